"""Several runs, each against the first or the one before: a line each, and from which length on it is worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Literal

from needlework.core.errors import InputError
from needlework.core.record import SCORED, Record
from needlework.results.statistics.comparison.comparison import (
    FamilyDifference,
    Losses,
    Verdict,
    compare,
    compare_as_one,
    compared,
)
from needlework.results.statistics.intervals import Interval, score_interval
from needlework.results.statistics.paired import FEWEST_FOR_P, LEVEL, holm, smallest_p
from needlework.results.statistics.panels import Range, range_of

Base = Literal["first", "previous"]


@dataclass(frozen=True, slots=True)
class RunScores:
    """Of some trials: how many, how many have a score, their mean (0..1) and its 95 % interval; `range`: the mean with
    all undecided answers as misses, and as hits, `None` where there are none."""

    trials: int
    n: int
    mean: float | None
    interval: Interval | None
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Against:
    """One of several runs, against its base: the first, or the one before. Of the first itself `whole` is `None`.

    `base`: the base's name, empty for the first. `lengths`: its own scores by length (tokens). `whole`: all of its
    trials paired with the base's, losses counted as misses, p by Holm over the runs. `at`: the same of each length, p
    by Bonferroni over the runs. `worse_from`: the shortest length from which on every length is shown worse.
    `different_prompts`: trials that were not asked the same text. `why`: why it is not compared.
    """

    name: str
    scores: RunScores
    lengths: Mapping[int, RunScores]
    base: str = ""
    whole: FamilyDifference | None = None
    at: Mapping[int, FamilyDifference] = field(default_factory=dict)
    worse_from: int | None = None
    different_prompts: int = 0
    why: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """Against the base; `None` where it is not compared."""
        return None if self.whole is None else self.whole.verdict

    @property
    def losses(self) -> tuple[Losses, ...]:
        """What it or its base could not answer and the other one could."""
        return () if self.whole is None else self.whole.losses


def compare_several(runs: Mapping[str, Sequence[Record]], base: Base = "first") -> tuple[Against, ...]:
    """Compare each run with the first, or with the one before it, in their order. A run without trials, or without one
    in common with its base, says why.
    """
    names = list(runs)
    found = [_alone(name, runs[name]) for name in names]
    if not names:
        return ()
    bases = ["", *(names[:-1] if base == "previous" else names[:1] * (len(names) - 1))]
    against = [
        _against(replace(each, base=of), runs[of], runs[each.name]) if of else each
        for each, of in zip(found, bases, strict=True)
    ]
    adjusted = holm([each.whole.p if each.whole else None for each in against])
    count = sum(each.whole is not None for each in against)
    return tuple(_adjusted(each, p, count) for each, p in zip(against, adjusted, strict=True))


def needed_samples(runs: int) -> int:
    """The fewest samples that can show a difference when so many runs are compared with the first: the smallest p of n
    samples is 2 / 2^n, and Holm takes it times the number of runs.
    """
    return next(n for n in range(FEWEST_FOR_P, 64) if smallest_p(n) * runs < LEVEL)


def worse_from(at: Mapping[int, FamilyDifference]) -> int | None:
    """The shortest length of which, and of all longer ones, it is shown that the run is worse there.

    The longest length is tested first, and the next only where that was worse (fixed-sequence testing; Maurer, Hothorn
    and Lehmacher 1995): no price is paid for their number.
    """
    found = None
    for length in sorted(at, reverse=True):
        if at[length].verdict != "worse":
            break
        found = length
    return found


def _against(run: Against, first: Sequence[Record], records: Sequence[Record]) -> Against:
    if not first:
        return replace(run, why=f"{run.base} has no trials to compare with")
    if not records:
        return replace(run, why="it has no trials")
    try:
        whole, at = compare_as_one(first, records)
        prompts = compare(first, records).prompts_differ
    except InputError as error:
        return replace(run, why=str(error))
    return replace(run, whole=whole, at=at, different_prompts=prompts)


def _adjusted(run: Against, p: float | None, count: int) -> Against:
    if run.whole is None:
        return run
    at = {
        length: replace(each, p_adjusted=None if each.p is None else min(1.0, each.p * count), families=count)
        for length, each in run.at.items()
    }
    return replace(run, whole=replace(run.whole, p_adjusted=p, families=count), at=at, worse_from=worse_from(at))


def _alone(name: str, records: Sequence[Record]) -> Against:
    own = compared(records, records)[0] if records else records
    lengths = sorted({record.length for record in own})
    return Against(
        name,
        _scores(own),
        {length: _scores([record for record in own if record.length == length]) for length in lengths},
    )


def _scores(records: Sequence[Record]) -> RunScores:
    scored = [record for record in records if record.outcome in SCORED and record.score is not None]
    values = [float(record.score or 0.0) for record in scored]
    samples = [(("", record.task_label, record.panel), record.sample_number) for record in scored]
    mean = fsum(values) / len(values) if values else None
    within = range_of(mean, len(values), Counter(record.outcome for record in records))
    return RunScores(len(records), len(values), mean, score_interval(values, samples), within)
