"""Runs, trial by trial: paired differences of scores, what one run alone could not answer, verdicts."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from needlework.core.record import OutcomeName, Record, label_parts
from needlework.results.records.samples import as_asked, grouped, task_of, without_controls
from needlework.results.statistics.intervals import counts_of
from needlework.results.statistics.paired import LEVEL, Difference, holm, mean_difference, sign_flip_p, smallest_p
from needlework.results.statistics.panels import Share, Tally, depth_order, trial_of
from needlework.results.statistics.tasks import overall_of, task_weights, weighted_mean

Verdict = Literal["better", "worse", "no difference shown", "undetermined"]
Base = Literal["first", "previous"]
Family = tuple[str, str, str]
"""Model, task, needle; the model is empty where the two runs are compared whatever their models are called."""
Identity = tuple[Family, int, float | None, int, int | None]
"""Family, length, depth, repeat, seed."""
GridCell = tuple[int, float | None]
"""Length (tokens), depth (percent)."""


class Losses(Struct, frozen=True):
    """The trials of two runs that only the other one scored. `side`: which run lost them, 0 is A, 1 is B.

    `of`: trials that the other one scored; `outcomes`: of the lost ones; `by_length`: of each length (tokens) with
    losses, how many and of how many.
    """

    side: int
    of: int
    outcomes: Mapping[OutcomeName, int]
    by_length: Mapping[int, tuple[int, int]]

    @property
    def lost(self) -> int:
        """The number of lost trials."""
        return sum(self.outcomes.values())


class GroupDifference(Struct, frozen=True):
    """The comparison of a group of trials, such as those of one length: B - A and its verdict.

    `n`: pairs that both runs scored; `scores`: of these, of A and of B, without a value where there are none;
    `difference`: B - A. `unscored`: trials without a pair. `counted`: B - A with `losses` as misses, which p is about.
    `p_adjusted`: p, corrected for the `tests` that it is one of.
    """

    n: int
    scores: tuple[Share, Share]
    difference: Difference | None
    unscored: int
    losses: tuple[Losses, ...]
    counted: Difference | None
    p_adjusted: float | None
    tests: int = 1

    @property
    def p(self) -> float | None:
        """The two-sided p value from `sign_flip_p`, not adjusted."""
        return self.counted.p if self.counted else None

    @property
    def contradicts_interval(self) -> bool:
        """Whether p and the interval of `counted`, which are of different tests, disagree on a difference."""
        test = self.counted
        if test is None or test.low is None or test.high is None or self.p_adjusted is None:
            return False
        return (test.low > 0 or test.high < 0) != (self.p_adjusted < LEVEL)

    @property
    def verdict(self) -> Verdict:
        """The verdict on B: `better` and `worse` need an adjusted p below 5 %.

        What did not fit one run's window alone is a fact and no sample: that run is worse, unless shown better.
        """
        skipped = {loss.side for loss in self.losses if loss.outcomes.get("skipped")}
        if self.counted is not None and self.p_adjusted is not None and self.p_adjusted < LEVEL:
            return "better" if self.counted.mean > 0 else "worse"
        if len(skipped) == 1:
            return "worse" if skipped == {1} else "better"
        if self.counted is None or self.p is None or smallest_p(self.counted.clusters) * self.tests >= LEVEL:
            return "undetermined"
        return "no difference shown"


class TaskDifference(Struct, frozen=True):
    """One task and needle: all of its trials, those of each cell, length (tokens) and depth (percent)."""

    family: Family
    whole: GroupDifference
    cells: Mapping[GridCell, GroupDifference]
    columns: Mapping[int, GroupDifference]
    rows: Mapping[float | None, GroupDifference]

    @property
    def table(self) -> list[list[GroupDifference | None]]:
        """The cells as rows, one for each depth; `None` where the runs have none."""
        return [[self.cells.get((length, depth)) for length in self.columns] for depth in self.rows]


class PairedTrial(Struct, frozen=True):
    """One trial of two runs; record and score are `None` where a run lacks them.

    `sample`: what trials share that are not independent: a repeat; for questions on documents, as in a panel.
    """

    family: Family
    length: int
    depth: float | None
    sample: Hashable
    records: tuple[Record | None, Record | None]
    scores: tuple[float | None, float | None]


class Comparison(Struct, frozen=True):
    """A (first) against B (second).

    `whole`: the difference of the overall scores; `lengths`: the same of each length (tokens). `outcomes`: of all
    trials of A, and of B. Of the trials in both runs, `unscored`: by A alone, by B alone, by both; `reworded`: those
    with other prompts; `prompts_unknown`: without a prompt's hash; `scorers_differ`: pairs that two scorers judged.
    `only`: trials that A alone has, and B alone.
    """

    tasks: tuple[TaskDifference, ...]
    whole: GroupDifference
    lengths: Mapping[int, GroupDifference]
    outcomes: tuple[Mapping[OutcomeName, int], Mapping[OutcomeName, int]]
    unscored: tuple[int, int, int]
    only: tuple[int, int]
    reworded: tuple[tuple[Record, Record], ...]
    prompts_unknown: int
    scorers_differ: int
    trials: tuple[PairedTrial, ...]

    def changed(self, sign: Literal[-1, 1]) -> list[tuple[TaskDifference, GridCell, GroupDifference]]:
        """Cells whose mean rose (1) or fell (-1), the largest change first: what was seen, not what was shown."""
        cells = [
            (-round(abs(cell.difference.mean), 9), task.family, at[0], depth_order(at[1]), (task, at, cell))
            for task in self.tasks
            for at, cell in task.cells.items()
            if cell.difference is not None and sign * cell.difference.mean > 0
        ]
        return [cell for *_, cell in sorted(cells, key=lambda ranked: ranked[:-1])]


class ComparedRun(Struct, frozen=True):
    """One of several runs, compared with its base: the first, or the one before. The first has none.

    `lengths`: its own scores by length (tokens). `pair`: itself as B against its `base` as A; `why`: why it is not
    compared. `models`: that it asked; `label`: its name, models and end; `window`: tokens, where known; `parts`: what
    differs from its base; `manifest`: empty where it has none.
    """

    name: str
    scores: Tally
    lengths: Mapping[int, Tally]
    base: str = ""
    pair: Comparison | None = None
    why: str = ""
    models: tuple[str, ...] = ()
    label: str = ""
    window: int | None = None
    parts: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = {}

    @property
    def verdict(self) -> Verdict | None:
        """Against the base; `None` where it is not compared."""
        return None if self.pair is None else self.pair.whole.verdict

    @property
    def worse_tasks(self) -> list[TaskDifference]:
        """The tasks that are shown worse than the base's."""
        return [task for task in self.pair.tasks if task.whole.verdict == "worse"] if self.pair else []

    @property
    def is_worse(self) -> bool:
        """Whether the run, or a task of it, is shown worse than its base."""
        return self.verdict == "worse" or bool(self.worse_tasks)

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
    """Compare each run with the first, or with the one before it; one that cannot be says why.

    p is adjusted by Holm over the runs, of tasks over the tasks of all pairs; of lengths by Bonferroni over the runs.
    """
    names = list(runs)
    bases = ["", *(names[:-1] if base == "previous" else names[:1] * (len(names) - 1))]
    rows = [_compared_run(name, base, runs) for name, base in zip(names, bases, strict=True)]
    pairs = [row.pair for row in rows if row.pair is not None]
    wholes = iter(_holm_adjusted([pair.whole for pair in pairs]))
    tasks = iter(_holm_adjusted([task.whole for pair in pairs for task in pair.tasks]))

    def adjusted(pair: Comparison) -> Comparison:
        lengths = {
            at: replace(test, p_adjusted=None if test.p is None else min(1.0, test.p * len(pairs)), tests=len(pairs))
            for at, test in pair.lengths.items()
        }
        of_tasks = tuple(replace(task, whole=next(tasks)) for task in pair.tasks)
        return replace(pair, whole=next(wholes), tasks=of_tasks, lengths=lengths)

    return tuple(row if row.pair is None else replace(row, pair=adjusted(row.pair)) for row in rows)


def _holm_adjusted(differences: Sequence[GroupDifference]) -> list[GroupDifference]:
    values = holm([difference.p for difference in differences])
    return [
        replace(difference, p_adjusted=p, tests=len(differences))
        for difference, p in zip(differences, values, strict=True)
    ]


def _compared_run(name: str, base: str, runs: Mapping[str, Sequence[Record]]) -> ComparedRun:
    trials = [trial_of(record) for record in _comparable(runs[name])[0]]
    by_length = grouped(trials, lambda trial: trial.length)
    run = ComparedRun(name, overall_of(trials), {at: overall_of(by_length[at]) for at in sorted(by_length)}, base)
    if not base:
        return run
    if not runs[base] or not runs[name]:
        return replace(run, why="it has no trials" if runs[base] else f"{base} has no trials to compare with")
    try:
        return replace(run, pair=compare(runs[base], runs[name]))
    except ValueError as error:
        return replace(run, why=str(error))


def _comparable(*runs: Sequence[Record]) -> list[list[Record]]:
    """The trials of runs that are compared: no controls, and no retriever's unless a run has no others."""
    plain = [as_asked(records) for records in runs]
    return plain if all(plain) else [without_controls(records) for records in runs]


def compare(first: Sequence[Record], second: Sequence[Record]) -> Comparison:
    """Join two runs on (task, needle, length, depth, repeat, seed); compare trials that both scored.

    Runs of one model each are compared whatever the models are; runs of several models must have the same ones, and
    each is compared with itself. No p is adjusted. Raises `ValueError` where the runs cannot be joined.
    """
    a, b = joined(*_comparable(first, second))
    trials = tuple(_paired(at, a.get(at), b.get(at)) for at in sorted(a.keys() | b.keys(), key=_reading_order))
    both = [(x, y, trial.scores) for trial in trials for x, y in [trial.records] if x is not None and y is not None]
    missing = Counter((one is None, other is None) for _, _, (one, other) in both)
    prompts = [prompts_match(x, y) for x, y, _ in both]
    tasks, lengths = grouped(trials, lambda trial: trial.family), grouped(trials, lambda trial: trial.length)
    return Comparison(
        tasks=tuple(_task(family, part) for family, part in tasks.items()),
        whole=_group(trials),
        lengths={length: _group(lengths[length]) for length in sorted(lengths)},
        outcomes=(Counter(x.outcome for x in a.values()), Counter(y.outcome for y in b.values())),
        unscored=(missing[True, False], missing[False, True], missing[True, True]),
        only=(len(a) - len(both), len(b) - len(both)),
        reworded=tuple((x, y) for (x, y, _), same in zip(both, prompts, strict=True) if same is False),
        prompts_unknown=prompts.count(None),
        scorers_differ=sum(
            None not in scores and (x.scorer, x.scorer_version) != (y.scorer, y.scorer_version) for x, y, scores in both
        ),
        trials=trials,
    )


def _panel_of(family: Family) -> Family:
    """The panel of a family: all questions on documents of a task are one."""
    model, task, needle = family
    return model, task, label_parts(task_of(task), needle).panel


def _paired(at: Identity, first: Record | None, second: Record | None) -> PairedTrial:
    family, length, depth, _, _ = at
    panel, (known, *_) = _panel_of(family), (record for record in (first, second) if record is not None)
    sample = (panel, known.sample_number)
    scores = (None if first is None else first.score, None if second is None else second.score)
    return PairedTrial(panel, length, depth, sample, (first, second), scores)


def _task(family: Family, trials: Sequence[PairedTrial]) -> TaskDifference:
    cells = grouped(trials, lambda trial: (trial.length, trial.depth))
    columns, rows = grouped(trials, lambda trial: trial.length), grouped(trials, lambda trial: trial.depth)
    return TaskDifference(
        family=family,
        whole=_group(trials),
        cells={at: _group(part) for at, part in cells.items()},
        columns={at: _group(part) for at, part in columns.items()},
        rows={depth: _group(rows[depth]) for depth in sorted(rows, key=depth_order)},
    )


def _group(trials: Sequence[PairedTrial]) -> GroupDifference:
    pairs = [trial for trial in trials if None not in trial.scores]
    first, second = (
        overall_of(trial_of(record) for trial in pairs if (record := trial.records[side])) for side in (0, 1)
    )
    losses = losses_of(
        (trial.length, (x.outcome, y.outcome), (trial.scores[0] is not None, trial.scores[1] is not None))
        for trial in trials
        for x, y in [trial.records]
        if x is not None and y is not None
    )
    difference = counted = _mean_difference(pairs)
    if losses:
        in_both = [trial for trial in trials if None not in trial.records]
        counted = _mean_difference([trial for trial in in_both if trial.scores != (None, None)])
    return GroupDifference(
        n=len(pairs),
        scores=(first.share, second.share),
        difference=difference,
        unscored=len(trials) - len(pairs),
        losses=losses,
        counted=counted,
        p_adjusted=counted.p if counted else None,
    )


def losses_of(trials: Iterable[tuple[int, tuple[OutcomeName, OutcomeName], tuple[bool, bool]]]) -> tuple[Losses, ...]:
    """Return the losses of A and of B, if any.
    A trial in both runs: its length (tokens), its outcomes in A and B, and whether each of the two has a score."""
    both = list(trials)
    losses = []
    for side in (0, 1):
        scored = [(length, outcomes[side], has[side]) for length, outcomes, has in both if has[1 - side]]
        lost = [(length, outcome) for length, outcome, has in scored if not has]
        at, of = Counter(length for length, _ in lost), Counter(length for length, _, _ in scored)
        if lost:
            counts = Counter(outcome for _, outcome in lost)
            by_length = {length: (at[length], of[length]) for length in sorted(at)}
            losses.append(Losses(side, len(scored), dict(sorted(counts.items())), by_length))
    return tuple(losses)


def _mean_difference(trials: Sequence[PairedTrial]) -> Difference | None:
    """The difference of two overall scores: mean over families of the mean over their tasks.

    Its interval comes from the tasks' own. Its test flips the signs of samples, which weigh as their tasks do.
    """
    tasks = {
        name: difference
        for name, part in grouped(trials, lambda trial: trial.family[:2]).items()
        if (difference := mean_difference([_gain(trial) for trial in part], [trial.sample for trial in part]))
    }
    if len(tasks) < 2:
        return next(iter(tasks.values()), None)
    weights = task_weights(tasks)
    mean = weighted_mean([Share(part.mean, part.low, part.high) for part in tasks.values()], [*weights.values()])
    of_trial = {name: weights[name] / part.n for name, part in tasks.items()}
    least = min(of_trial.values())  # tasks of one size leave whole numbers whole, whose test is exact
    values = [of_trial[trial.family[:2]] / least * _gain(trial) for trial in trials]
    pairs = counts_of(values, [trial.sample for trial in trials])
    return Difference(mean.value or 0.0, mean.low, mean.high, len(trials), pairs.samples, sign_flip_p(pairs))


def _gain(trial: PairedTrial) -> float:
    return (trial.scores[1] or 0.0) - (trial.scores[0] or 0.0)


# Which trials of two runs are the same


def joined(first: Sequence[Record], second: Sequence[Record]) -> tuple[dict[Identity, Record], dict[Identity, Record]]:
    """Return the records of both runs by identity.

    Runs of one model each are joined whatever the models are; runs of several models must have the same ones, and each
    is joined with itself. Raises `ValueError` where the runs have no trial in common, or one of them a trial twice.
    """
    by_model = _several_models(first, second)
    a, b = _indexed(first, by_model), _indexed(second, by_model)
    if not a.keys() & b.keys():
        raise ValueError(f"they have no trial in common: {_why_disjoint(a, b)}")
    return a, b


def prompts_match(first: Record, second: Record) -> bool | None:
    """Whether two records were asked the same prompt, by its hash; `None` where one of them has none."""
    hashes = first.prompt.sha256, second.prompt.sha256
    return hashes[0] == hashes[1] if all(hashes) else None


def _reading_order(at: Identity) -> tuple[object, ...]:
    family, length, depth, repeat, seed = at
    return _panel_of(family), length, depth_order(depth), repeat, -1 if seed is None else seed, family


def _several_models(first: Sequence[Record], second: Sequence[Record]) -> bool:
    models = [sorted({record.model for record in records}) for records in (first, second)]
    if max(map(len, models)) <= 1:
        return False
    if models[0] != models[1]:
        shown = " / ".join(", ".join(names) or "none" for names in models)
        raise ValueError(f"runs of several models must have the same ones ({shown}); compare runs of one model")
    return True


def _indexed(records: Sequence[Record], by_model: bool) -> dict[Identity, Record]:
    index: dict[Identity, Record] = {}
    for record in records:
        family = (record.model if by_model else "", record.task_label, record.needle)
        at = (family, record.length, record.depth, record.repeat, record.seed)
        if at in index:
            raise ValueError(f"one of them has {record.id} twice; its results.json has it once")
        index[at] = record
    return index


def _why_disjoint(a: Mapping[Identity, Record], b: Mapping[Identity, Record]) -> str:
    """The first part of the identity that no trial shares."""
    for name, part in (("task and needle", 0), ("length", 1), ("depth", 2), ("repeat", 3), ("seed", 4)):
        values = [{at[part] for at in index} for index in (a, b)]
        if not values[0] & values[1]:
            shown = [", ".join(sorted({_words(value) for value in side})[:3]) or "none" for side in values]
            return f"{name} {shown[0]} / {shown[1]}"
    return "task, needle, length, depth, repeat and seed never match together"


def _words(value: object) -> str:
    return " ".join(filter(None, cast(Family, value))) if isinstance(value, tuple) else str(value)
