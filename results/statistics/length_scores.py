"""Scores by length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

from needlework.core.errors import InputError
from needlework.core.grid import parse_lengths
from needlework.core.record import UNDECIDED
from needlework.results.records.samples import grouped
from needlework.results.statistics.intervals import (
    ERROR,
    NEEDED,
    Ends,
    counts_of,
    exact_ends,
)
from needlework.results.statistics.paired import difference_ends, pairs_of
from needlework.results.statistics.panels import Range, ScoredTrial, decided, tally
from needlework.results.style import length_labels

BASE_LENGTH = 1_024  # tokens; "1k" whichever way it is counted


@dataclass(frozen=True, slots=True)
class LengthScore:
    """The mean score at one length (tokens), 0..1, and the ends of its interval.

    `score` is `None` where nothing was scored, the ends also where one sample has none. `shared_high`: the high end
    with
    the error of all lengths together, for what is said of the first length that fails. `samples`: how many there are,
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
    shared_high: float | None = None

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


def length_scores(trials: Iterable[ScoredTrial]) -> tuple[LengthScore, ...]:
    """Return the score at each length, ascending: means and, where none is undecided, intervals as the summary has
    them."""
    columns = grouped(trials, lambda trial: trial.length)
    return tuple(_score(length, columns[length], len(columns)) for length in sorted(columns))


def _score(length: int, trials: Sequence[ScoredTrial], lengths: int) -> LengthScore:
    found = worst = best = tally(trials)
    if found.range is not None:
        worst, best = (tally(decided(trials, hits=hits)) for hits in (False, True))
    low = worst.interval.low if worst.interval else None
    high = best.interval.high if best.interval else None
    shared = None
    if best.interval:
        scored = decided(trials, hits=True)
        counts = counts_of(
            [each.score or 0.0 for each in scored if each.score is not None],
            [each.sample_name for each in scored if each.score is not None],
        )
        shared = exact_ends(counts, ERROR / lengths)[1]
    undecided = worst.n - found.n
    return LengthScore(length, found.mean, low, high, worst.samples, worst.n, undecided, found.range, shared)


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


RELATIVE_TO = "--relative-to"


@dataclass(frozen=True, slots=True)
class BaselineChoice:
    """What `--relative-to` asks for: a `score` (0..1), some `lengths` (tokens), or neither: the focused control where
    there is one, else lengths up to 1k, else the shortest one."""

    score: float | None = None
    lengths: tuple[int, ...] = ()


def parse_relative_to(text: str | None) -> BaselineChoice | None:
    """Read `95%`, `0.95` or `500,1k`; `None` where nothing is asked for. Raises `InputError`."""
    if text is None:
        return None
    number = text.strip()
    try:
        score = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        score = 2.0
    if 0 < score <= 1:
        return BaselineChoice(score=score)
    if number.endswith("%") or score <= 0:
        raise InputError(
            RELATIVE_TO, text, "a base is a score above 0, at most 100 % (95% or 0.95), or lengths (500,1k)"
        )
    return BaselineChoice(lengths=parse_lengths(RELATIVE_TO, text, "linear"))


@dataclass(frozen=True, slots=True)
class ReferenceScore:
    """A base `score`, 0..1, `None` where nothing was scored, and what it is, in words.

    `lengths`: those that it is the mean of, which are not judged. `trials`: what it was measured on, none for a number.
    `range`: the score with all of its undecided trials as misses, and with all as hits; `None` where there are none.
    """

    score: float | None
    words: str
    lengths: tuple[int, ...] = ()
    trials: tuple[ScoredTrial, ...] = ()
    range: Range | None = None

    @property
    def ends(self) -> Range:
        """The least and the highest that the score may be; 0 where nothing was scored."""
        return self.range or (self.score or 0.0, self.score or 0.0)

    def decided(self, *, hits: bool) -> ReferenceScore:
        """The same with its undecided trials as hits, or as misses."""
        if self.range is None:
            return self
        return replace(self, score=self.range[hits], trials=tuple(decided(self.trials, hits=hits)))


def base_of(
    trials: Sequence[ScoredTrial], focused: Sequence[ScoredTrial] = (), wanted: BaselineChoice | None = None
) -> ReferenceScore:
    """Return the base of a panel's trials; `focused`: the same questions on a text of nothing else."""
    wanted = wanted or BaselineChoice()
    if wanted.score is not None:
        return ReferenceScore(wanted.score, "as given")
    alone = tuple(trial for trial in focused if trial.score is not None or trial.outcome in UNDECIDED)
    if alone and not wanted.lengths:
        found = tally(alone)
        return ReferenceScore(found.mean, "the focused control", (), alone, found.range)
    scores = length_scores(trials)
    lengths = wanted.lengths or base_lengths(scores)
    own = tuple(
        trial for trial in trials if trial.length in lengths and (trial.score is not None or trial.outcome in UNDECIDED)
    )
    there = [each for each in scores if each.length in lengths and each.tested]
    known, ends = [each.score for each in there if each.score is not None], None
    if any(each.undecided for each in there):
        ends = _average([each.least or 0.0 for each in there]), _average([each.most or 0.0 for each in there])
    at = tuple(each.length for each in there)
    return ReferenceScore(_average(known) if known else None, f"at {', '.join(length_labels(at))}", at, own, ends)


def _average(scores: Sequence[float]) -> float:
    return fsum(scores) / len(scores)


def margin_ends(trials: Sequence[ScoredTrial], base: ReferenceScore, share: float, error: float = ERROR) -> Ends | None:
    """Return both ends of the interval of score - `share` x base, -1..1; `None` where one sample has none.

    `error`: per side.

    Paired by sample where two samples or more have both; else as of two scores that know nothing of each other (MOVER).
    """
    scored = [(trial.score, trial.sample) for trial in trials if trial.score is not None]
    if base.score is None or len({sample for _, sample in scored}) < NEEDED:
        return None
    if not base.trials:
        low, high = exact_ends(counts_of([score for score, _ in scored], [sample for _, sample in scored]), error)
        return low - share * base.score, high - share * base.score
    own: dict[int, list[float]] = {}
    for trial in base.trials:
        if trial.score is not None:
            own.setdefault(trial.sample, []).append(trial.score)
    both = [(score - share * fsum(own[sample]) / len(own[sample]), sample) for score, sample in scored if sample in own]
    if len({sample for _, sample in both}) >= NEEDED:
        return difference_ends(pairs_of([each for each, _ in both], [sample for _, sample in both]), error)
    return _apart(scored, base, share, error)


def _apart(scored: Sequence[tuple[float, int]], base: ReferenceScore, share: float, error: float) -> Ends | None:
    known = [(trial.score, trial.sample) for trial in base.trials if trial.score is not None]
    if len({sample for _, sample in known}) < NEEDED:
        return None
    mean, under = _average([score for score, _ in scored]), _average([score for score, _ in known])
    low, high = exact_ends(counts_of([score for score, _ in scored], [sample for _, sample in scored]), error)
    base_low, base_high = exact_ends(counts_of([score for score, _ in known], [sample for _, sample in known]), error)
    margin = mean - share * under
    return (
        margin - sqrt((mean - low) ** 2 + (share * (base_high - under)) ** 2),
        margin + sqrt((high - mean) ** 2 + (share * (under - base_low)) ** 2),
    )
