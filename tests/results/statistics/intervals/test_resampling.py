"""Resampling of whole samples, which kappa and the chances to pass rest on."""

from __future__ import annotations

import numpy as np
import pytest

from needlework.results.statistics.intervals import cluster_sums, resampled_means


def test_columns_are_drawn_together_and_gaps_are_left_out() -> None:
    """Two equal columns stay equal in every draw; a column without values has no mean."""
    table = [[float(i), float(i), np.nan] for i in range(12)]
    sums, sizes = cluster_sums(table, [(i,) for i in range(12)])
    means = resampled_means(sums, sizes)

    assert np.array_equal(means[:, 0], means[:, 1])
    assert np.isnan(means[:, 2]).all()
    assert means[:, 0].mean() == pytest.approx(5.5, abs=0.1)
