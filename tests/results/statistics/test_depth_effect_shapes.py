"""Depth effects: Cochran's Q by hand, and the shapes that may be named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from needlework.results.statistics.depth_effect import depth_effect, depth_effects
from needlework.results.statistics.panels import Trial

TrialsOf = Callable[..., list[Trial]]
TENTHS = tuple(range(0, 101, 10))


def curve(trials_of: TrialsOf, scores: list[float], samples: int = 40, seed: int = 0) -> list[Trial]:
    """0/1 trials at eleven depths with these chances, from 0 % to 100 %."""
    rng = np.random.default_rng(seed)
    hits = rng.random((samples, 11)) < np.array(scores)
    return trials_of((4000, depth, i, float(hits[i, at])) for i in range(samples) for at, depth in enumerate(TENTHS))


def test_cochrans_q_as_its_formula_has_it(trials_of: TrialsOf) -> None:
    """Q = (k - 1) (k sum C2 - N2) / (k N - sum R2), C column sums, R row sums, N their total."""
    hits = np.random.default_rng(1).random((30, 3)) < [0.9, 0.5, 0.7]
    columns, rows, total = hits.sum(axis=0), hits.sum(axis=1), hits.sum()
    expected = 2 * (3 * (columns**2).sum() - total**2) / (3 * total - (rows**2).sum())
    found = depth_effect(trials_of((1000, 50.0 * at, i, float(hits[i, at])) for i in range(30) for at in range(3)))

    assert found.test is not None
    assert (found.test.name, found.test.freedom) == ("cochran", 2)
    assert found.test.statistic == pytest.approx(expected)


def test_partial_credit_gets_friedmans_test(trials_of: TrialsOf) -> None:
    rows = [(1000, depth, i, (i % 5) / 10 + depth / 250) for i in range(20) for depth in (0.0, 50.0, 100.0)]
    found = depth_effect(trials_of(rows))

    assert found.test is not None
    assert found.test.name == "friedman"
    assert found.test.statistic == pytest.approx(40)  # the same order in each of 20 samples: n (k - 1)
    assert found.label == "recency"


def test_scores_that_never_differ_have_p_1(trials_of: TrialsOf) -> None:
    found = depth_effect(curve(trials_of, [1.0] * 11))

    assert found.test is not None
    assert found.test.p == 1.0
    assert found.label == "flat"


@pytest.mark.parametrize(
    ("label", "scores"),
    [
        ("flat", [0.97] * 11),
        ("lost in the middle", [1.0, 0.95, 0.8, 0.6, 0.4, 0.3, 0.4, 0.6, 0.8, 0.95, 1.0]),
        ("primacy", [1.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
        ("recency", [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.3, 0.3, 0.4, 0.9, 1.0]),
        ("uneven", [0.9, 0.9, 0.05, 0.05, 0.9, 0.9, 0.9, 0.9, 0.05, 0.05, 0.9]),
    ],
)
def test_shapes_are_named(trials_of: TrialsOf, label: str, scores: list[float]) -> None:
    assert depth_effect(curve(trials_of, scores)).label == label


def test_contrasts_by_hand(trials_of: TrialsOf) -> None:
    """Every sample scores 1 at 0, 10 and 100 %, 0.5 at 20 % and 0 elsewhere."""
    scores = {0: 1.0, 10: 1.0, 20: 0.5, 100: 1.0}
    found = depth_effect(trials_of((1000, d, i, scores.get(d, 0.0)) for i in range(12) for d in TENTHS))

    assert found.ends_middle is not None
    assert found.primacy is not None
    assert found.recency is not None
    assert found.ends_middle.mean == pytest.approx(3 / 4 - 0)  # 0, 10, 90, 100 against 40, 50, 60
    assert found.primacy.mean == pytest.approx(2.5 / 3 - 1 / 8)  # 0, 10, 20 against the other eight
    assert found.recency.mean == pytest.approx(1 / 3 - 2.5 / 8)  # 80, 90, 100 against the other eight
    assert found.label == "lost in the middle"


def test_best_against_worst_pays_for_having_been_picked(trials_of: TrialsOf) -> None:
    rows = [(1000, d, i, float(d != 50 or i >= 8)) for i in range(20) for d in (0.0, 50.0, 100.0)]
    found = depth_effect(trials_of(rows)).extremes

    assert found is not None
    assert (found.best, found.worst, found.best_score, found.worst_score) == (0.0, 50.0, 1.0, 0.6)
    assert found.p == pytest.approx(2 / 2**8)  # 8 discordant pairs, all one way
    assert found.p_adjusted == pytest.approx(3 * 2 / 2**8)  # three pairs of depths

    two = [effect.extremes for effect in depth_effects([trials_of(rows), trials_of(rows)])]
    assert [each.p_adjusted for each in two if each is not None] == pytest.approx([6 * 2 / 2**8] * 2)


def test_too_little_is_undetermined(trials_of: TrialsOf) -> None:
    few = [(1000, d, i, float(d != 50)) for i in range(9) for d in (0.0, 50.0, 100.0)]
    one_depth = [(1000, 50.0, i, 1.0) for i in range(30)]
    no_depth = [(1000, None, i, 1.0) for i in range(30)]
    wide = [(1000, d, i, float((i + at) % 3 == 0)) for i in range(12) for at, d in enumerate((0.0, 50.0, 100.0))]

    for rows in (few, one_depth, no_depth, wide, []):
        assert depth_effect(trials_of(rows)).label == "undetermined"
    assert depth_effect(trials_of(few)).extremes is not None


def test_samples_without_a_score_somewhere_are_left_out_and_counted(trials_of: TrialsOf) -> None:
    rows = [(1000, d, i, 1.0) for i in range(20) for d in (0.0, 50.0, 100.0)]
    gap = [(2000, 0.0, 0, 1.0), (2000, 50.0, 0, None), (2000, 100.0, 0, 0.0)]
    found = depth_effect(trials_of([*rows, *gap]))

    assert (found.samples, found.incomplete) == (20, 1)
    assert found.extremes is not None
    assert found.extremes.worst_score == 1.0


def test_order_does_not_matter(trials_of: TrialsOf) -> None:
    trials = curve(trials_of, [0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9])

    assert depth_effect(trials[::-1]) == depth_effect(trials)
