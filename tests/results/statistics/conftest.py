"""Trials for the tests of the statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from needlework.results.statistics.panels import ScoredTrial


@pytest.fixture(scope="session")
def trials_of() -> Callable[..., list[ScoredTrial]]:
    """Make trials from rows of (length, depth, repeat, score); a score of `None` is an error."""

    def build(rows: Iterable[tuple[int, float | None, int, float | None]]) -> list[ScoredTrial]:
        return [
            ScoredTrial("mock", "niah", "code", length, depth, repeat, "error" if score is None else "partial", score)
            for length, depth, repeat, score in rows
        ]

    return build
