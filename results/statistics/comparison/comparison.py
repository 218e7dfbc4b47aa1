"""Comparison of two runs, trial by trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal

from needlework.core.errors import InputError
from needlework.core.labels import label_parts
from needlework.core.record import SCORED, OutcomeName, Record
from needlework.results.records.samples import as_asked, task_of, without_controls
from needlework.results.statistics.comparison.joining import Family, Identity, identity_order, joined, prompts_match
from needlework.results.statistics.intervals import Interval, score_interval
from needlework.results.statistics.paired import (
    LEVEL,
    Difference,
    holm,
    mean_difference,
    smallest_p,
)
from needlework.results.statistics.panels import OUTCOMES, depth_order

Verdict = Literal["better", "worse", "no difference shown", "undetermined"]


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """Some trials, such as those of one length: `n` pairs that both runs scored, their means 0..1, and B - A.

    `intervals`: of A's and of B's mean; `found`: B - A; both `None` without pairs. `unscored`: trials that only one run
    or none of the two scored, or that one of them does not have.
    """

    n: int
    first: float | None
    second: float | None
    intervals: tuple[Interval | None, Interval | None]
    found: Difference | None
    unscored: int

    @property
    def difference(self) -> float | None:
        """B - A."""
        return None if self.first is None or self.second is None else self.second - self.first


@dataclass(frozen=True, slots=True)
class CellDifference(GroupDifference):
    """One cell of one family; its place in the grid: tokens, percent."""

    family: Family
    length: int
    depth: float | None


@dataclass(frozen=True, slots=True)
class FamilyDifference:
    """One (task, needle): what its pairs say of B - A, and what may be said of it.

    `p`: as of `sign_flip_p`; `p_adjusted`: Holm over all `families`. `better` (B beats A) and `worse` need
    the adjusted p to be below 5 %. `undetermined`: so few samples that p cannot get there, with so many families.
    `columns`, `rows`: each length and each depth, each interval as if it were the only one. `outcomes`: of all trials
    of A, and of B. `losses`: what one run could not answer and the other could; `counted`: B - A with these as misses,
    which p and verdict are about; the same as `difference` where there are none. What did not fit one run's window
    alone is a fact and no sample: it makes that run worse, unless the numbers show it better.
    """

    family: Family
    whole: GroupDifference
    p: float | None
    p_adjusted: float | None
    cells: tuple[CellDifference, ...]
    columns: Mapping[int, GroupDifference]
    rows: Mapping[float | None, GroupDifference]
    outcomes: tuple[Mapping[OutcomeName, int], Mapping[OutcomeName, int]]
    families: int = 1
    losses: tuple[Losses, ...] = ()
    counted: Difference | None = None

    @property
    def difference(self) -> Difference | None:
        """B - A with its interval; `None` without pairs."""
        return self.whole.found

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
            too_few = smallest_p(self.counted.clusters) * self.families >= LEVEL
            return "undetermined" if too_few else "no difference shown"
        return "better" if self.counted.mean > 0 else "worse"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A (first) against B (second).

    Trials, each in one number only: `pairs` scored by both; unscored by one or both; only in one of the runs.
    Of the trials in both runs: `prompts_differ`, and `prompts_unknown` where a hash is missing. `scorers_differ`: of
    the pairs, those that two different scorers judged.
    """

    families: tuple[FamilyDifference, ...]
    pairs: int
    unscored_first: int
    unscored_second: int
    unscored_both: int
    only_first: int
    only_second: int
    prompts_differ: int
    prompts_unknown: int
    scorers_differ: int
    losses: tuple[Losses, ...] = ()

    def changed(self, sign: Literal[-1, 1]) -> list[CellDifference]:
        """Cells whose mean rose (1) or fell (-1), the largest change first: what was seen, not what was shown."""
        cells = [cell for family in self.families for cell in family.cells if sign * (cell.difference or 0.0) > 0]
        return sorted(
            cells,
            key=lambda cell: (
                -round(abs(cell.difference or 0.0), 9),
                cell.family,
                cell.length,
                depth_order(cell.depth),
            ),
        )


def compare(first: Sequence[Record], second: Sequence[Record]) -> Comparison:
    """Join the records of two runs on (task, needle, length, depth, repeat, seed) and compare what both scored.

    Runs of one model each are compared whatever the models are; runs of several models must have the same ones, and
    each is compared with itself. Trials with a retriever are left out unless a run has no others. Raises `InputError`
    where the runs cannot be joined.
    """
    a, b, both = joined(*compared(first, second))
    missing = Counter(
        ("first" if _score(a[at]) is None else "") + ("second" if _score(b[at]) is None else "") for at in both
    )
    same_prompt = [prompts_match(a[at], b[at]) for at in both]
    trials: dict[Family, dict[Identity, tuple[Record | None, Record | None]]] = {}
    for at in sorted(a.keys() | b.keys(), key=lambda at: (panel_of(at[0]), *identity_order(at)[1:], at[0])):
        trials.setdefault(panel_of(at[0]), {})[at] = (a.get(at), b.get(at))
    families = [_family(family, pairs) for family, pairs in trials.items()]
    adjusted = holm([family.p for family in families])
    outcomes = [(at[1], (a[at].outcome, b[at].outcome), (_score(a[at]), _score(b[at]))) for at in both]
    return Comparison(
        losses=losses_of((length, each, (x is not None, y is not None)) for length, each, (x, y) in outcomes),
        families=tuple(
            replace(family, p_adjusted=p, families=len(families)) for family, p in zip(families, adjusted, strict=True)
        ),
        pairs=missing[""],
        unscored_first=missing["first"],
        unscored_second=missing["second"],
        unscored_both=missing["firstsecond"],
        only_first=len(a.keys() - b.keys()),
        only_second=len(b.keys() - a.keys()),
        prompts_differ=same_prompt.count(False),
        prompts_unknown=same_prompt.count(None),
        scorers_differ=sum(
            _score(a[at]) is not None and _score(b[at]) is not None and _scorer(a[at]) != _scorer(b[at]) for at in both
        ),
    )


def compare_as_one(
    first: Sequence[Record], second: Sequence[Record]
) -> tuple[FamilyDifference, Mapping[int, FamilyDifference]]:
    """All trials of two runs as one family, and the same of each length (tokens): one verdict where a run has several
    tasks. Each needle of each task is a sample of its own, as in a gate over several tasks. Raises `InputError`.
    """
    a, b, _ = joined(*compared(first, second))
    trials = {at: (a.get(at), b.get(at)) for at in sorted(a.keys() | b.keys(), key=identity_order)}
    lengths = sorted({at[1] for at in trials})
    parts = {length: {at: pair for at, pair in trials.items() if at[1] == length} for length in lengths}
    name: Family = ("", "all tasks", "")
    return _family(name, trials), {length: _family(name, part) for length, part in parts.items()}


def compared(first: Sequence[Record], second: Sequence[Record]) -> tuple[Sequence[Record], Sequence[Record]]:
    """The trials of two runs that are compared: no controls, and no retriever's unless a run has no others."""
    plain = as_asked(first), as_asked(second)
    return plain if all(plain) else (without_controls(first), without_controls(second))


def panel_of(family: Family) -> Family:
    """What a family is compared as: all questions on documents of a task are one."""
    model, task, needle = family
    return model, task, label_parts(task_of(task), needle).panel


@dataclass(frozen=True, slots=True)
class _PairedTrial:
    """One trial of a family in both runs; `None` where a run does not have it or has no score for it.

    `sample`: what trials share that are not independent: a repeat; for questions on documents, as in a panel.
    `outcomes`: in both runs; `None` where a run does not have the trial.
    """

    length: int
    depth: float | None
    sample: Hashable
    first: float | None
    second: float | None
    outcomes: tuple[OutcomeName, OutcomeName] | None

    @property
    def pair(self) -> tuple[float, float] | None:
        return None if self.first is None or self.second is None else (self.first, self.second)

    @property
    def counted(self) -> float | None:
        """B - A with a trial that one run alone could answer as a miss of the other; `None` for other trials."""
        if self.outcomes is None or (self.first is None and self.second is None):
            return None
        return (self.second or 0.0) - (self.first or 0.0)


def _family(family: Family, trials: Mapping[Identity, tuple[Record | None, Record | None]]) -> FamilyDifference:
    """`trials` in order of length; those without two scores only count."""
    both = [_trial(at, pair) for at, pair in trials.items()]
    cells: dict[tuple[int, float | None], list[_PairedTrial]] = {}
    columns: dict[int, list[_PairedTrial]] = {}
    rows: dict[float | None, list[_PairedTrial]] = {}
    for each in both:
        cells.setdefault((each.length, each.depth), []).append(each)
        columns.setdefault(each.length, []).append(each)
        rows.setdefault(each.depth, []).append(each)
    counted = [(each.counted, each.sample) for each in both if each.counted is not None]
    differences, samples = [difference for difference, _ in counted], [sample for _, sample in counted]
    difference = mean_difference(differences, samples)
    return FamilyDifference(
        family=family,
        whole=_group(both),
        losses=_losses(both),
        counted=difference,
        p=difference.p if difference else None,
        p_adjusted=None,
        cells=tuple(_cell(family, *at, cells[at]) for at in cells),
        columns={length: _group(columns[length]) for length in columns},
        rows={depth: _group(rows[depth]) for depth in sorted(rows, key=depth_order)},
        outcomes=(_outcomes(pair[0] for pair in trials.values()), _outcomes(pair[1] for pair in trials.values())),
    )


def _trial(at: Identity, pair: tuple[Record | None, Record | None]) -> _PairedTrial:
    family, length, depth, _, _ = at
    first, second = pair
    return _PairedTrial(
        length,
        depth,
        (panel_of(family), next(record.sample_number for record in pair if record is not None)),
        first=None if first is None else _score(first),
        second=None if second is None else _score(second),
        outcomes=None if first is None or second is None else (first.outcome, second.outcome),
    )


def _losses(trials: Iterable[_PairedTrial]) -> tuple[Losses, ...]:
    return losses_of(
        (each.length, each.outcomes, (each.first is not None, each.second is not None))
        for each in trials
        if each.outcomes is not None
    )


def _group(trials: Sequence[_PairedTrial]) -> GroupDifference:
    pairs = [(each, each.pair) for each in trials if each.pair is not None]
    first, second = ([pair[side] for _, pair in pairs] for side in (0, 1))
    samples = [each.sample for each, _ in pairs]
    return GroupDifference(
        n=len(pairs),
        first=_mean(first),
        second=_mean(second),
        intervals=(score_interval(first, samples), score_interval(second, samples)),
        found=mean_difference([y - x for x, y in zip(first, second, strict=True)], samples),
        unscored=len(trials) - len(pairs),
    )


def _cell(family: Family, length: int, depth: float | None, trials: Sequence[_PairedTrial]) -> CellDifference:
    group = _group(trials)
    fields = (group.n, group.first, group.second, group.intervals, group.found, group.unscored)
    return CellDifference(*fields, family=family, length=length, depth=depth)


def _outcomes(records: Iterable[Record | None]) -> dict[OutcomeName, int]:
    counts = Counter(record.outcome for record in records if record is not None)
    return {name: counts[name] for name in OUTCOMES}


def _score(record: Record) -> float | None:
    """The score, `None` where the outcome has none. A scored outcome without a score is a damaged file."""
    if record.outcome not in SCORED:
        return None
    score = record.score
    if score is None or not 0 <= score <= 1:
        raise InputError("results", record.id, f"has outcome {record.outcome} and score {score}, not 0..1")
    return score


def _scorer(record: Record) -> tuple[object, object]:
    return record.scorer, record.scorer_version


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None


Side = Literal[0, 1]
"""Of two runs: 0 is A, 1 is B."""


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
    found = []
    for side in (0, 1):
        asked = [(length, outcomes[side], scored[side]) for length, outcomes, scored in both if scored[1 - side]]
        lost = [(length, outcome) for length, outcome, scored in asked if not scored]
        at, of = Counter(length for length, _ in lost), Counter(length for length, _, _ in asked)
        if lost:
            places = {length: (at[length], of[length]) for length in sorted(at)}
            outcomes = Counter(outcome for _, outcome in lost)
            found.append(Losses(side, len(asked), dict(sorted(outcomes.items())), places))
    return tuple(found)


def certain_sign(losses: Iterable[Losses]) -> Literal[-1, 0, 1]:
    """-1 where B alone has trials that did not fit its window, 1 where A alone has; no sampling decides of those."""
    sides = {each.side for each in losses if each.outcomes.get("skipped")}
    return (-1 if sides == {1} else 1) if len(sides) == 1 else 0
