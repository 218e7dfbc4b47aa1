"""What the relative bar of the effective length is a share of: the model's score where length is no difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.spacing import parse_lengths
from needlework.results.records.record import UNDECIDED
from needlework.results.statistics.intervals.clustered import NEEDED, Ends, counts_of, exact_ends
from needlework.results.statistics.intervals.paired import difference_ends, pairs_of
from needlework.results.statistics.length.scores import base_lengths, length_scores
from needlework.results.statistics.panels import Range, Trial, decided, tally
from needlework.results.style.text import length_labels

RELATIVE_TO = "--relative-to"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `--relative-to` asks for: a `score` (0..1), some `lengths` (tokens), or neither: the focused control where
    there is one, else lengths up to 1k, else the shortest one."""

    score: float | None = None
    lengths: tuple[int, ...] = ()


def parse_relative_to(text: str | None) -> Wanted | None:
    """Read `95%`, `0.95` or `500,1k`; `None` where nothing is asked for. Raises `InputError`."""
    if text is None:
        return None
    number = text.strip()
    try:
        score = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        score = 2.0
    if 0 < score <= 1:
        return Wanted(score=score)
    if number.endswith("%") or score <= 0:
        raise InputError(
            RELATIVE_TO, text, "a base is a score above 0, at most 100 % (95% or 0.95), or lengths (500,1k)"
        )
    return Wanted(lengths=parse_lengths(RELATIVE_TO, text, "linear"))


@dataclass(frozen=True, slots=True)
class Base:
    """A base `score`, 0..1, `None` where nothing was scored, and what it is, in words.

    `lengths`: those that it is the mean of, which are not judged. `trials`: what it was measured on, none for a number.
    `range`: the score with all of its undecided trials as misses, and with all as hits; `None` where there are none.
    """

    score: float | None
    words: str
    lengths: tuple[int, ...] = ()
    trials: tuple[Trial, ...] = ()
    range: Range | None = None

    @property
    def ends(self) -> Range:
        """The least and the highest that the score may be; 0 where nothing was scored."""
        return self.range or (self.score or 0.0, self.score or 0.0)

    def decided(self, *, hits: bool) -> Base:
        """The same with its undecided trials as hits, or as misses."""
        if self.range is None:
            return self
        return replace(self, score=self.range[hits], trials=tuple(decided(self.trials, hits=hits)))


def base_of(trials: Sequence[Trial], focused: Sequence[Trial] = (), wanted: Wanted | None = None) -> Base:
    """Return the base of a panel's trials; `focused`: the same questions on a text of nothing else."""
    wanted = wanted or Wanted()
    if wanted.score is not None:
        return Base(wanted.score, "as given")
    alone = tuple(trial for trial in focused if trial.score is not None or trial.outcome in UNDECIDED)
    if alone and not wanted.lengths:
        found = tally(alone)
        return Base(found.mean, "the focused control", (), alone, found.range)
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
    return Base(_average(known) if known else None, f"at {', '.join(length_labels(at))}", at, own, ends)


def _average(scores: Sequence[float]) -> float:
    return fsum(scores) / len(scores)


def margin_ends(trials: Sequence[Trial], base: Base, share: float) -> Ends | None:
    """Return both ends of the interval of score - `share` x base, -1..1; `None` where one sample has none.

    Paired by sample where two samples or more have both; else as of two scores that know nothing of each other (MOVER).
    """
    scored = [(trial.score, trial.sample) for trial in trials if trial.score is not None]
    if base.score is None or len({sample for _, sample in scored}) < NEEDED:
        return None
    if not base.trials:
        low, high = exact_ends(counts_of([score for score, _ in scored], [sample for _, sample in scored]))
        return low - share * base.score, high - share * base.score
    own: dict[int, list[float]] = {}
    for trial in base.trials:
        if trial.score is not None:
            own.setdefault(trial.sample, []).append(trial.score)
    both = [(score - share * fsum(own[sample]) / len(own[sample]), sample) for score, sample in scored if sample in own]
    if len({sample for _, sample in both}) >= NEEDED:
        return difference_ends(pairs_of([each for each, _ in both], [sample for _, sample in both]))
    return _apart(scored, base, share)


def _apart(scored: Sequence[tuple[float, int]], base: Base, share: float) -> Ends | None:
    known = [(trial.score, trial.sample) for trial in base.trials if trial.score is not None]
    if len({sample for _, sample in known}) < NEEDED:
        return None
    mean, under = _average([score for score, _ in scored]), _average([score for score, _ in known])
    low, high = exact_ends(counts_of([score for score, _ in scored], [sample for _, sample in scored]))
    base_low, base_high = exact_ends(counts_of([score for score, _ in known], [sample for _, sample in known]))
    margin = mean - share * under
    return (
        margin - sqrt((mean - low) ** 2 + (share * (base_high - under)) ** 2),
        margin + sqrt((high - mean) ** 2 + (share * (under - base_low)) ** 2),
    )
