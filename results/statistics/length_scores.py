"""Scores by length, and the base that a relative bar is a share of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.grid import parse_lengths
from needlework.core.record import UNDECIDED
from needlework.results.records.samples import grouped
from needlework.results.statistics.intervals import ERROR, NEEDED, Ends, counts_of, exact_ends
from needlework.results.statistics.paired import difference_ends
from needlework.results.statistics.panels import Range, ScoredTrial, decided, tally
from needlework.results.style import length_labels

BASE_LENGTH = 1_024  # tokens; "1k" whichever way it is counted


class LengthScore(Struct, frozen=True):
    """The mean score at one length, 0..1; ends take undecided trials as misses, and as hits."""

    length: int  # tokens
    score: float | None  # `None` where nothing was scored
    low: float | None  # end of the interval; `None` also for one sample
    high: float | None
    samples: int | None = None  # `None` for published scores, which are taken as they are
    trials: int = 0
    undecided: int = 0  # of these
    range: Range | None = None  # of the mean; `None` where no trial is undecided
    shared_high: float | None = None  # high end with the error of all lengths together, for the first that fails

    @property
    def tested(self) -> bool:
        """Whether any answer came, be it an undecided one."""
        return self.score is not None or bool(self.undecided)

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The mean score with all undecided trials as misses, and with all as hits."""
        return self.range or (self.score, self.score)


def length_scores(trials: Iterable[ScoredTrial]) -> tuple[LengthScore, ...]:
    """Return the score at each length, ascending."""
    columns = grouped(trials, lambda trial: trial.length)
    return tuple(_score(length, columns[length], len(columns)) for length in sorted(columns))


def _score(length: int, trials: Sequence[ScoredTrial], lengths: int) -> LengthScore:
    scores = worst = best = tally(trials)
    if scores.range is not None:
        worst, best = (tally(decided(trials, hits=hits)) for hits in (False, True))
    return LengthScore(
        length=length,
        score=scores.mean,
        low=worst.share.low,
        high=best.share.high,
        samples=worst.samples,
        trials=worst.n,
        undecided=worst.n - scores.n,
        range=scores.range,
        shared_high=_ends(decided(trials, hits=True), ERROR / lengths)[1] if best.interval else None,
    )


def _ends(trials: Sequence[ScoredTrial], error: float) -> Ends:
    scored = [(trial.score, trial.sample_name) for trial in trials if trial.score is not None]
    return exact_ends(counts_of([score for score, _ in scored], [sample for _, sample in scored]), error)


def base_lengths(scores: Sequence[LengthScore]) -> tuple[int, ...]:
    """Return the lengths whose mean is the base: those of at most 1k tokens.
    The shortest one, where all or none are that short."""
    tested = tuple(each.length for each in scores if each.tested)
    short = tuple(length for length in tested if length <= BASE_LENGTH)
    return short if 0 < len(short) < len(tested) else tested[:1]


RELATIVE_TO = "--relative-to"


class BaselineChoice(Struct, frozen=True):
    """The base of `--relative-to`: a `score` (0..1), some `lengths` (tokens), or neither.
    Neither: the focused control where there is one, else lengths up to 1k, else the shortest one."""

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


class ReferenceScore(Struct, frozen=True):
    """A base score, 0..1."""

    score: float | None  # `None` where nothing was scored
    words: str  # its description
    lengths: tuple[int, ...] = ()  # that it is the mean of, which are not judged
    trials: tuple[ScoredTrial, ...] = ()  # it was measured on; none for a number
    range: Range | None = None  # `None` where no trial is undecided

    @property
    def ends(self) -> Range:
        """The least and the highest that the score may be; 0 where nothing was scored."""
        return self.range or (self.score or 0.0, self.score or 0.0)

    def decided(self, *, hits: bool) -> ReferenceScore:
        """A copy with its undecided trials as hits, or as misses."""
        if self.range is None:
            return self
        return replace(self, score=self.range[hits], trials=tuple(decided(self.trials, hits=hits)))


def base_of(
    trials: Sequence[ScoredTrial], focused: Sequence[ScoredTrial] = (), choice: BaselineChoice | None = None
) -> ReferenceScore:
    """Return the base of a panel's trials; `focused`: the same questions on a text of nothing else."""
    choice = choice or BaselineChoice()
    if choice.score is not None:
        return ReferenceScore(choice.score, "as given")
    alone = tuple(filter(_is_answered, focused))
    if alone and not choice.lengths:
        scores = tally(alone)
        return ReferenceScore(scores.mean, "the focused control", (), alone, scores.range)
    by_length = length_scores(trials)
    chosen = choice.lengths or base_lengths(by_length)
    columns = [each for each in by_length if each.length in chosen and each.tested]
    means, limits = [each.score for each in columns if each.score is not None], None
    if any(each.undecided for each in columns):
        limits = fmean(each.limits[0] or 0.0 for each in columns), fmean(each.limits[1] or 0.0 for each in columns)
    lengths = tuple(each.length for each in columns)
    measured = tuple(trial for trial in trials if trial.length in chosen and _is_answered(trial))
    words = f"at {', '.join(length_labels(lengths))}"
    return ReferenceScore(fmean(means) if means else None, words, lengths, measured, limits)


def _is_answered(trial: ScoredTrial) -> bool:
    return trial.score is not None or trial.outcome in UNDECIDED


def margin_ends(trials: Sequence[ScoredTrial], base: ReferenceScore, share: float, error: float = ERROR) -> Ends | None:
    """Return both ends of the interval of score - `share` x base, -1..1; `None` where one sample has none.

    `error`: per side. Paired by sample where two samples or more have both; else as of two scores that know nothing of
    each other (MOVER).
    """
    scores, base_scores = _by_sample(trials), _by_sample(base.trials)
    if base.score is None or len(scores) < NEEDED:
        return None
    if not base.trials:
        low, high = _ends(trials, error)
        return low - share * base.score, high - share * base.score
    both = [
        (score - share * fmean(base_scores[sample]), sample)
        for sample in scores
        if sample in base_scores
        for score in scores[sample]
    ]
    if len(scores.keys() & base_scores.keys()) >= NEEDED:
        return difference_ends(counts_of([margin for margin, _ in both], [sample for _, sample in both]), error)
    if len(base_scores) < NEEDED:
        return None
    mean, base_mean = (fmean(score for group in each.values() for score in group) for each in (scores, base_scores))
    (low, high), (base_low, base_high) = _ends(trials, error), _ends(base.trials, error)
    margin = mean - share * base_mean
    return (
        margin - sqrt((mean - low) ** 2 + (share * (base_high - base_mean)) ** 2),
        margin + sqrt((high - mean) ** 2 + (share * (base_mean - base_low)) ** 2),
    )


def _by_sample(trials: Iterable[ScoredTrial]) -> dict[int, list[float]]:
    scores: dict[int, list[float]] = {}
    for trial in trials:
        if trial.score is not None:
            scores.setdefault(trial.sample, []).append(trial.score)
    return scores
