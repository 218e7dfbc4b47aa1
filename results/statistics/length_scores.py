"""The score at each length, with what the rules over lengths need: interval, base, joint resamples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from needlework.results.statistics.panels import Trial, tally
from needlework.results.statistics.resampling import FEWEST_CLUSTERS, Floats, cluster_sums, resampled_means

BASE_LENGTH = 1_024  # tokens; "1k" whichever way it is counted


@dataclass(frozen=True, slots=True)
class LengthScore:
    """The mean score at one length (tokens), 0..1, and the ends of its interval; `None` where nothing was scored."""

    length: int
    score: float | None
    low: float | None
    high: float | None


def exact_scores(scores: Iterable[tuple[int, float | None]]) -> tuple[LengthScore, ...]:
    """Take published (length, score 0..1) as they are: an interval of no width."""
    return tuple(LengthScore(length, score, score, score) for length, score in sorted(scores, key=lambda at: at[0]))


def length_scores(trials: Iterable[Trial]) -> tuple[LengthScore, ...]:
    """Return the score at each length, ascending: means and intervals as the summary has them."""
    columns: dict[int, list[Trial]] = {}
    for trial in trials:
        columns.setdefault(trial.length, []).append(trial)
    tallies = [(length, tally(columns[length])) for length in sorted(columns)]
    return tuple(
        LengthScore(length, each.mean, *((each.interval.low, each.interval.high) if each.interval else (None, None)))
        for length, each in tallies
    )


def base_lengths(scores: Sequence[LengthScore]) -> tuple[int, ...]:
    """Return the scored lengths whose mean is the base: those of at most 1k tokens, else the shortest one."""
    scored = [each.length for each in scores if each.score is not None]
    return tuple(length for length in scored if length <= BASE_LENGTH) or tuple(scored[:1])


def base_score(scores: Sequence[LengthScore]) -> float | None:
    """Return the mean of the scores at the base lengths, each length weighing the same; `None` without scores."""
    base = base_lengths(scores)
    values = [each.score for each in scores if each.length in base and each.score is not None]
    return fsum(values) / len(values) if values else None


def joint_draws(trials: Iterable[Trial]) -> tuple[tuple[int, ...], Floats] | None:
    """Return the lengths and bootstrap draws (draws, lengths) of their means, all lengths of a draw from one resample.

    Clusters are the repeats, whose needle and filler all lengths share. Fewer than `FEWEST_CLUSTERS` repeats cannot be
    resampled; (repeat, depth) is then the cluster, which takes the depths of a repeat for independent. `None` where
    there are too few of those also.
    """
    scored = [trial for trial in trials if trial.score is not None]
    few = len({trial.sample for trial in scored}) < FEWEST_CLUSTERS
    clusters = [
        (trial.sample, trial.depth is None, trial.depth or 0.0) if few else (trial.sample, False, 0.0)
        for trial in scored
    ]
    if len(set(clusters)) < FEWEST_CLUSTERS:
        return None
    lengths = tuple(sorted({trial.length for trial in scored}))
    table = np.full((len(scored), len(lengths)), np.nan)
    for row, trial in enumerate(scored):
        table[row, lengths.index(trial.length)] = trial.score
    return lengths, resampled_means(*cluster_sums(table, clusters))
