"""Scores as tables print them."""

from __future__ import annotations

from collections.abc import Iterable

from needlework.results.statistics.length_scores import LengthScore


def exact_scores(scores: Iterable[tuple[int, float | None]]) -> tuple[LengthScore, ...]:
    """Published (length, score 0..1) as they are: intervals of no width."""
    return tuple(LengthScore(length, score, score, score, shared_high=score) for length, score in scores)
