"""Two runs, trial by trial: paired differences of scores, what one run alone could not answer, verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from needlework.core.errors import InputError
from needlework.core.labels import label_parts
from needlework.core.record import SCORED, OutcomeName, Record
from needlework.results.records.samples import as_asked, grouped, task_of, without_controls
from needlework.results.statistics.comparison.joining import Family, Identity, identity_order, joined, prompts_match
from needlework.results.statistics.intervals import Interval
from needlework.results.statistics.paired import (
    LEVEL,
    Difference,
    holm,
    mean_difference,
    pairs_of,
    sign_flip_p,
    smallest_p,
)
from needlework.results.statistics.panels import OUTCOMES, Share, Tally, depth_order, trial_of
from needlework.results.statistics.tasks import overall_of, task_weights, weighted_mean

Verdict = Literal["better", "worse", "no difference shown", "undetermined"]
Side = Literal[0, 1]
"""Of two runs: 0 is A, the base; 1 is B."""
Place = tuple[int, float | None]
"""A cell of a grid: length (tokens), depth (percent)."""


@dataclass(frozen=True, slots=True)
class PairedTrial:
    """One trial of two runs; a record is `None` where a run lacks it. `scores`: `None` where it has none.

    `sample`: what trials share that are not independent: a repeat; for questions on documents, as in a panel.
    """

    family: Family
    length: int
    depth: float | None
    sample: Hashable
    records: tuple[Record | None, Record | None]
    scores: tuple[float | None, float | None]

    @property
    def outcomes(self) -> tuple[OutcomeName, OutcomeName] | None:
        """In both runs; `None` where one lacks the trial."""
        first, second = self.records
        return None if first is None or second is None else (first.outcome, second.outcome)

    @property
    def same_prompt(self) -> bool | None:
        """Whether both runs asked the same text; `None` where that is not known, or a run lacks the trial."""
        first, second = self.records
        return None if first is None or second is None else prompts_match(first, second)

    @property
    def pair(self) -> tuple[float, float] | None:
        """Both scores; `None` where one is missing."""
        first, second = self.scores
        return None if first is None or second is None else (first, second)


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """Some trials, such as those of one length: `n` pairs that both runs scored, their means 0..1, and B - A.

    `intervals`: of A's and of B's mean; `difference`: B - A; both `None` without pairs. `unscored`: trials that only
    one run or none of the two scored, or that one of them does not have.
    """

    n: int
    means: tuple[float | None, float | None]
    intervals: tuple[Interval | None, Interval | None]
    difference: Difference | None
    unscored: int


@dataclass(frozen=True, slots=True)
class JudgedDifference(GroupDifference):
    """A difference with its verdict. `losses`: what one run could not answer and the other could.

    `counted`: B - A with losses as misses, which p and verdict are about; the same as `difference` where there are
    none. `p_adjusted`: p, corrected for `tests`, the number of tests that it is one of. `better` (B beats A) and
    `worse` need it to be below 5 %. `undetermined`: so few samples that p cannot get there. What did not fit one run's
    window alone is a fact and no sample: it makes that run worse, unless the numbers show it better.
    """

    losses: tuple[Losses, ...]
    counted: Difference | None
    p_adjusted: float | None = None
    tests: int = 1

    @property
    def p(self) -> float | None:
        """As of `sign_flip_p`."""
        return self.counted.p if self.counted else None

    @property
    def verdict(self) -> Verdict:
        shown, certain = self._shown, certain_sign(self.losses)
        if certain and shown not in ("better", "worse"):
            return "better" if certain > 0 else "worse"
        return shown

    @property
    def _shown(self) -> Verdict:
        """The verdict of the numbers."""
        if self.counted is None or self.p_adjusted is None:
            return "undetermined"
        if self.p_adjusted >= LEVEL:
            too_few = smallest_p(self.counted.clusters) * self.tests >= LEVEL
            return "undetermined" if too_few else "no difference shown"
        return "better" if self.counted.mean > 0 else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDifference(JudgedDifference):
    """One task and needle. `columns`, `rows`: each length (tokens) and each depth (percent), every interval as if it
    were the only one. `outcomes`: of all trials of A, and of B.
    """

    family: Family
    cells: Mapping[Place, GroupDifference]
    columns: Mapping[int, GroupDifference]
    rows: Mapping[float | None, GroupDifference]
    outcomes: tuple[Mapping[OutcomeName, int], Mapping[OutcomeName, int]]

    @property
    def table(self) -> list[list[GroupDifference | None]]:
        """The cells as rows, one for each depth; `None` where the runs have none."""
        return [[self.cells.get((length, depth)) for length in self.columns] for depth in self.rows]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A (first) against B (second).

    `whole`: the difference of the overall scores, each needle of each task a sample of its own; `lengths`: the same of
    each length (tokens). `unscored`: of the trials in both runs, by A alone, by B alone, by both. `only`: trials that A
    alone has, and B alone. `prompts_differ`, and `prompts_unknown` where a hash is missing: of the trials in both runs.
    `scorers_differ`: of the pairs, those that two different scorers judged.
    """

    tasks: tuple[TaskDifference, ...]
    whole: JudgedDifference
    lengths: Mapping[int, JudgedDifference]
    unscored: tuple[int, int, int]
    only: tuple[int, int]
    prompts_differ: int
    prompts_unknown: int
    scorers_differ: int
    trials: tuple[PairedTrial, ...] = field(repr=False)

    @property
    def pairs(self) -> int:
        """Trials that both runs scored."""
        return self.whole.n

    @property
    def reworded(self) -> tuple[Record, Record] | None:
        """The two records of the first trial whose prompts differ."""
        pairs = (trial.records for trial in self.trials if trial.same_prompt is False)
        return next(((first, second) for first, second in pairs if first and second), None)

    def changed(self, sign: Literal[-1, 1]) -> list[tuple[TaskDifference, Place, GroupDifference]]:
        """Cells whose mean rose (1) or fell (-1), the largest change first: what was seen, not what was shown."""
        cells = [
            (-round(abs(cell.difference.mean), 9), task.family, place[0], depth_order(place[1]), (task, place, cell))
            for task in self.tasks
            for place, cell in task.cells.items()
            if cell.difference is not None and sign * cell.difference.mean > 0
        ]
        return [cell for *_, cell in sorted(cells, key=lambda ranked: ranked[:-1])]


def compare(first: Sequence[Record], second: Sequence[Record]) -> Comparison:
    """Join the records of two runs on (task, needle, length, depth, repeat, seed) and compare what both scored.

    Runs of one model each are compared whatever the models are; runs of several models must have the same ones, and
    each is compared with itself. Trials with a retriever are left out unless a run has no others. p is adjusted (Holm)
    over the tasks. Raises `InputError` where the runs cannot be joined.
    """
    a, b, _ = joined(*compared(first, second))
    order = sorted(a.keys() | b.keys(), key=lambda at: (panel_of(at[0]), *identity_order(at)[1:], at[0]))
    trials = tuple(_paired(at, a.get(at), b.get(at)) for at in order)
    both = [trial for trial in trials if trial.outcomes]
    missing = Counter(tuple(score is None for score in trial.scores) for trial in both)
    same_prompt = [trial.same_prompt for trial in both]
    tasks, lengths = grouped(trials, lambda trial: trial.family), grouped(trials, lambda trial: trial.length)
    return Comparison(
        tasks=holm_adjusted([_task(family, part) for family, part in tasks.items()]),
        whole=judged_difference(trials),
        lengths={length: judged_difference(lengths[length]) for length in sorted(lengths)},
        unscored=(missing[True, False], missing[False, True], missing[True, True]),
        only=(len(a.keys() - b.keys()), len(b.keys() - a.keys())),
        prompts_differ=same_prompt.count(False),
        prompts_unknown=same_prompt.count(None),
        scorers_differ=sum(trial.pair is not None and len(set(map(_scorer, trial.records))) > 1 for trial in both),
        trials=trials,
    )


def compared(first: Sequence[Record], second: Sequence[Record]) -> tuple[Sequence[Record], Sequence[Record]]:
    """The trials of two runs that are compared: no controls, and no retriever's unless a run has no others."""
    plain = as_asked(first), as_asked(second)
    return plain if all(plain) else (without_controls(first), without_controls(second))


def panel_of(family: Family) -> Family:
    """What a family is compared as: all questions on documents of a task are one."""
    model, task, needle = family
    return model, task, label_parts(task_of(task), needle).panel


Judged = TypeVar("Judged", bound=JudgedDifference)


def holm_adjusted(differences: Sequence[Judged]) -> tuple[Judged, ...]:
    """The differences with p adjusted for each other, by Holm."""
    values = holm([difference.p for difference in differences])
    return tuple(
        replace(difference, p_adjusted=p, tests=len(differences))
        for difference, p in zip(differences, values, strict=True)
    )


def judged_difference(trials: Sequence[PairedTrial]) -> JudgedDifference:
    """The difference over some trials, as the only one that is tested."""
    group = _group(trials)
    answered = [trial for trial in trials if trial.outcomes and trial.scores != (None, None)]
    difference = _difference([(trial, (trial.scores[1] or 0.0) - (trial.scores[0] or 0.0)) for trial in answered])
    return JudgedDifference(
        group.n,
        group.means,
        group.intervals,
        group.difference,
        group.unscored,
        losses=losses_of(
            (trial.length, trial.outcomes, (trial.scores[0] is not None, trial.scores[1] is not None))
            for trial in trials
            if trial.outcomes
        ),
        counted=difference,
        p_adjusted=difference.p if difference else None,
    )


def _paired(at: Identity, first: Record | None, second: Record | None) -> PairedTrial:
    family, length, depth, _, _ = at
    panel, (known, *_) = panel_of(family), (record for record in (first, second) if record is not None)
    sample = (panel, known.sample_number)
    return PairedTrial(panel, length, depth, sample, (first, second), (_score(first), _score(second)))


def _task(family: Family, trials: Sequence[PairedTrial]) -> TaskDifference:
    test = judged_difference(trials)
    rows = grouped(trials, lambda trial: trial.depth)
    return TaskDifference(
        *(test.n, test.means, test.intervals, test.difference, test.unscored, test.losses, test.counted),
        family=family,
        cells={at: _group(part) for at, part in grouped(trials, lambda trial: (trial.length, trial.depth)).items()},
        columns={at: _group(part) for at, part in grouped(trials, lambda trial: trial.length).items()},
        rows={depth: _group(rows[depth]) for depth in sorted(rows, key=depth_order)},
        outcomes=(_outcomes(trial.records[0] for trial in trials), _outcomes(trial.records[1] for trial in trials)),
    )


def _group(trials: Sequence[PairedTrial]) -> GroupDifference:
    pairs = [(trial, trial.pair) for trial in trials if trial.pair is not None]
    first, second = (_overall([trial.records[side] for trial, _ in pairs]) for side in (0, 1))
    return GroupDifference(
        n=len(pairs),
        means=(first.mean, second.mean),
        intervals=(first.interval, second.interval),
        difference=_difference([(trial, second - first) for trial, (first, second) in pairs]),
        unscored=len(trials) - len(pairs),
    )


def _overall(records: Iterable[Record | None]) -> Tally:
    return overall_of(trial_of(record) for record in records if record is not None)


def _difference(differences: Sequence[tuple[PairedTrial, float]]) -> Difference | None:
    """The difference of two overall scores: of several tasks the mean over families of the mean over their tasks, with
    an interval from the tasks' own. Its test flips the signs of samples, which weigh as their tasks do.
    """
    of_tasks = grouped(differences, lambda each: each[0].family[:2])
    parts = [mean_difference(*_by_sample(each)) for each in of_tasks.values()]
    tasks = {name: part for name, part in zip(of_tasks, parts, strict=True) if part is not None}
    if len(tasks) < 2:
        return next(iter(tasks.values()), None)
    weights = task_weights(tasks)
    mean = weighted_mean([Share(part.mean, part.low, part.high) for part in tasks.values()], [*weights.values()])
    of_trial = {name: weights[name] / part.n for name, part in tasks.items()}
    least = min(of_trial.values())  # tasks of one size leave whole numbers whole, whose test is exact
    values = [of_trial[trial.family[:2]] / least * difference for trial, difference in differences]
    pairs = pairs_of(values, [trial.sample for trial, _ in differences])
    return Difference(mean.value or 0.0, mean.low, mean.high, len(differences), pairs.samples, sign_flip_p(pairs))


def _by_sample(differences: Sequence[tuple[PairedTrial, float]]) -> tuple[list[float], list[Hashable]]:
    return [difference for _, difference in differences], [trial.sample for trial, _ in differences]


def _outcomes(records: Iterable[Record | None]) -> dict[OutcomeName, int]:
    counts = Counter(record.outcome for record in records if record is not None)
    return {name: counts[name] for name in OUTCOMES}


def _score(record: Record | None) -> float | None:
    """The score, `None` where the outcome has none. A scored outcome without a score is a damaged file."""
    if record is None or record.outcome not in SCORED:
        return None
    if record.score is None or not 0 <= record.score <= 1:
        raise InputError("results", record.id, f"has outcome {record.outcome} and score {record.score}, not 0..1")
    return record.score


def _scorer(record: Record | None) -> tuple[object, object] | None:
    return None if record is None else (record.scorer, record.scorer_version)


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses of one run, `side`. `of`: trials in both runs that the other one scored; `outcomes`: what became of
    the lost ones; `by_length`: of each length (tokens) with losses, how many and of how many.
    """

    side: Side
    of: int
    outcomes: Mapping[OutcomeName, int]
    by_length: Mapping[int, tuple[int, int]]

    @property
    def lost(self) -> int:
        """How many trials were lost."""
        return sum(self.outcomes.values())


def losses_of(trials: Iterable[tuple[int, tuple[OutcomeName, OutcomeName], tuple[bool, bool]]]) -> tuple[Losses, ...]:
    """Return the losses of A and of B, those there are. A trial in both runs is its length (tokens), its outcomes in A
    and in B, and whether each of the two has a score."""
    both = list(trials)
    losses = []
    for side in (0, 1):
        asked = [(length, outcomes[side], scored[side]) for length, outcomes, scored in both if scored[1 - side]]
        lost = [(length, outcome) for length, outcome, scored in asked if not scored]
        at, of = Counter(length for length, _ in lost), Counter(length for length, _, _ in asked)
        if lost:
            lengths = {length: (at[length], of[length]) for length in sorted(at)}
            counts = Counter(outcome for _, outcome in lost)
            losses.append(Losses(side, len(asked), dict(sorted(counts.items())), lengths))
    return tuple(losses)


def certain_sign(losses: Iterable[Losses]) -> Literal[-1, 0, 1]:
    """-1 where B alone has trials that did not fit its window, 1 where A alone has; no sampling decides of those."""
    sides = {loss.side for loss in losses if loss.outcomes.get("skipped")}
    return (-1 if sides == {1} else 1) if len(sides) == 1 else 0
