"""95 % intervals of a mean score, clustered by sample: for tables, pictures and gates the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from needlework.results.statistics.intervals.clustered import NEEDED, Counts, counts_of, exact_ends

METHOD = "clustered exact"
FEW = 5
"""Samples: an interval of fewer is printed with their number."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval of a mean score: both ends in 0..1; from so many samples."""

    low: float
    high: float
    samples: int


def score_interval(scores: Sequence[float], samples: Sequence[Hashable]) -> Interval | None:
    """Return the 95 % interval of the mean of `scores` (0..1); `None` where fewer than two samples have a score.

    `samples` names the sample of each score: what shares a needle and its text (see `clustered`). Raises `ValueError`
    where their numbers differ.
    """
    return interval_of(counts_of(scores, samples))


def interval_of(counts: Counts) -> Interval | None:
    """The same of scores that are counted already."""
    if counts.samples < NEEDED:
        return None
    return Interval(*exact_ends(counts), counts.samples)
