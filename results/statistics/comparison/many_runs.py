"""Two runs or more, each against the first or the one before: a row each, and from which length on it is worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from needlework.core.errors import InputError
from needlework.core.record import Record
from needlework.results.statistics.comparison.comparison import (
    Comparison,
    JudgedDifference,
    Verdict,
    compare,
    compared,
    holm_adjusted,
)
from needlework.results.statistics.paired import FEWEST_FOR_P, LEVEL, smallest_p
from needlework.results.statistics.panels import Tally, trial_of
from needlework.results.statistics.tasks import overall_of

Base = Literal["first", "previous"]


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One of several runs, and its comparison with its base: the first, or the one before. The first itself has none.

    `base`: the base's name, empty for the first. `lengths`: its own scores by length (tokens). `pair`: itself as B
    against its base as A; p by Holm over the runs, of tasks over the tasks of all pairs, of lengths by Bonferroni over
    the runs. `why`: why it is not compared.
    """

    name: str
    scores: Tally
    lengths: Mapping[int, Tally]
    base: str = ""
    pair: Comparison | None = None
    why: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """Against the base; `None` where it is not compared."""
        return None if self.pair is None else self.pair.whole.verdict

    @property
    def is_worse(self) -> bool:
        """Whether the run, or a task of it, is shown worse than its base."""
        return self.pair is not None and "worse" in {test.verdict for test in (self.pair.whole, *self.pair.tasks)}

    @property
    def worse_from(self) -> int | None:
        """The shortest length of which, and of all longer ones, it is shown that the run is worse there.

        The longest length is tested first, and the next only where that was worse (fixed-sequence testing; Maurer,
        Hothorn and Lehmacher 1995): no price is paid for their number.
        """
        shortest = None
        for length, test in sorted(self.pair.lengths.items(), reverse=True) if self.pair else ():
            if test.verdict != "worse":
                break
            shortest = length
        return shortest


def compare_runs(runs: Mapping[str, Sequence[Record]], base: Base = "first") -> tuple[ComparedRun, ...]:
    """Compare each run with the first, or with the one before it, in their order. A run without trials, or without one
    in common with its base, says why.
    """
    names = list(runs)
    bases = ["", *(names[:-1] if base == "previous" else names[:1] * (len(names) - 1))]
    rows = [_against(_alone(name, runs[name]), base, runs) for name, base in zip(names, bases, strict=True)]
    pairs = [row.pair for row in rows if row.pair is not None]
    wholes = iter(holm_adjusted([pair.whole for pair in pairs]))
    tasks = iter(holm_adjusted([task for pair in pairs for task in pair.tasks]))

    def corrected(pair: Comparison) -> Comparison:
        lengths = {at: _bonferroni(test, len(pairs)) for at, test in pair.lengths.items()}
        return replace(pair, whole=next(wholes), tasks=tuple(next(tasks) for _ in pair.tasks), lengths=lengths)

    return tuple(row if row.pair is None else replace(row, pair=corrected(row.pair)) for row in rows)


def needed_samples(runs: int) -> int:
    """The fewest samples that can show a difference when so many runs are compared with the first: the smallest p of n
    samples is 2 / 2^n, and Holm takes it times the number of runs.
    """
    return next(n for n in range(FEWEST_FOR_P, 64) if smallest_p(n) * runs < LEVEL)


def _bonferroni(test: JudgedDifference, tests: int) -> JudgedDifference:
    return replace(test, p_adjusted=None if test.p is None else min(1.0, test.p * tests), tests=tests)


def _against(run: ComparedRun, base: str, runs: Mapping[str, Sequence[Record]]) -> ComparedRun:
    if not base:
        return run
    if not runs[base]:
        return replace(run, base=base, why=f"{base} has no trials to compare with")
    if not runs[run.name]:
        return replace(run, base=base, why="it has no trials")
    try:
        return replace(run, base=base, pair=compare(runs[base], runs[run.name]))
    except InputError as error:
        return replace(run, base=base, why=str(error))


def _alone(name: str, records: Sequence[Record]) -> ComparedRun:
    asked = compared(records, records)[0] if records else records
    lengths = sorted({record.length for record in asked})
    trials = [trial_of(record) for record in asked]
    by_length = {length: overall_of(trial for trial in trials if trial.length == length) for length in lengths}
    return ComparedRun(name, overall_of(trials), by_length)
