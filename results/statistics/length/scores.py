"""The score at each length, with what the rules over lengths need: its interval, its samples, joint resamples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from needlework.results.statistics.intervals.clustered import Floats
from needlework.results.statistics.intervals.resampling import FEWEST_CLUSTERS, cluster_sums, resampled_means
from needlework.results.statistics.panels import Range, Trial, decided, tally

BASE_LENGTH = 1_024  # tokens; "1k" whichever way it is counted


@dataclass(frozen=True, slots=True)
class LengthScore:
    """The mean score at one length (tokens), 0..1, and the ends of its interval.

    `score` is `None` where nothing was scored, the ends also where one sample has none. `samples`: how many there are,
    `None` of published scores, which are taken as they are; `trials`: how many they have together. Of these
    `undecided` are neither hits nor misses: with all of them as misses, and all as hits, the mean is one end of `range`
    or the other; `low` is the low end of the interval of the first, `high` the high end of that of the second.
    """

    length: int
    score: float | None
    low: float | None
    high: float | None
    samples: int | None = None
    trials: int = 0
    undecided: int = 0
    range: Range | None = None

    @property
    def tested(self) -> bool:
        """Whether any answer came, be it an undecided one."""
        return self.score is not None or bool(self.undecided)

    @property
    def least(self) -> float | None:
        """The mean score with all undecided trials as misses."""
        return self.score if self.range is None else self.range[0]

    @property
    def most(self) -> float | None:
        """The mean score with all undecided trials as hits."""
        return self.score if self.range is None else self.range[1]


def exact_scores(scores: Iterable[tuple[int, float | None]]) -> tuple[LengthScore, ...]:
    """Take published (length, score 0..1) as they are: an interval of no width."""
    return tuple(LengthScore(length, score, score, score) for length, score in sorted(scores, key=lambda at: at[0]))


def length_scores(trials: Iterable[Trial]) -> tuple[LengthScore, ...]:
    """Return the score at each length, ascending: means and, where none is undecided, intervals as the summary has
    them."""
    columns: dict[int, list[Trial]] = {}
    for trial in trials:
        columns.setdefault(trial.length, []).append(trial)
    return tuple(_score(length, columns[length]) for length in sorted(columns))


def _score(length: int, trials: Sequence[Trial]) -> LengthScore:
    found = worst = best = tally(trials)
    if found.range is not None:
        worst, best = (tally(decided(trials, hits=hits)) for hits in (False, True))
    low = worst.interval.low if worst.interval else None
    high = best.interval.high if best.interval else None
    return LengthScore(length, found.mean, low, high, worst.samples, worst.n, worst.n - found.n, found.range)


def base_lengths(scores: Sequence[LengthScore]) -> tuple[int, ...]:
    """Return the lengths with answers whose mean is the base: those of at most 1k tokens where there are longer ones,
    else the shortest one."""
    scored = [each.length for each in scores if each.tested]
    short = tuple(length for length in scored if length <= BASE_LENGTH)
    return short if 0 < len(short) < len(scored) else tuple(scored[:1])


def base_score(scores: Sequence[LengthScore]) -> float | None:
    """Return the mean of the scores at the base lengths, each length weighing the same; `None` without scores."""
    base = base_lengths(scores)
    values = [each.score for each in scores if each.length in base and each.score is not None]
    return fsum(values) / len(values) if values else None


def joint_draws(trials: Iterable[Trial]) -> tuple[tuple[int, ...], Floats] | None:
    """Return the lengths and bootstrap draws (draws, lengths) of their means, all lengths of a draw from one resample.

    Whole samples are drawn, whose needle and filler all lengths share; `None` for fewer than `FEWEST_CLUSTERS`.
    """
    scored = [trial for trial in trials if trial.score is not None]
    samples = [(trial.sample,) for trial in scored]
    if len(set(samples)) < FEWEST_CLUSTERS:
        return None
    lengths = tuple(sorted({trial.length for trial in scored}))
    table = np.full((len(scored), len(lengths)), np.nan)
    for row, trial in enumerate(scored):
        table[row, lengths.index(trial.length)] = trial.score
    return lengths, resampled_means(*cluster_sums(table, samples))
