"""Comparisons in words and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from needlework.core.grid import depth_label
from needlework.core.record import NOTHING_SAID, SCORED, UNSCORED, OutcomeName
from needlework.results.report.section import IntervalBar, Table
from needlework.results.statistics.comparison.comparison import (
    Comparison,
    GroupDifference,
    JudgedDifference,
    Losses,
    TaskDifference,
)
from needlework.results.statistics.comparison.joining import Family
from needlework.results.statistics.comparison.many_runs import ComparedRun, needed_samples
from needlework.results.statistics.intervals import Interval
from needlework.results.statistics.paired import FEWEST_FOR_P, Difference
from needlework.results.statistics.panels import Tally
from needlework.results.statistics.wording import interval_words, p_words, points1
from needlework.results.style import NONE, counted, length_labels, one_line, percent1
from needlework.results.tables.terminal import aligned

LOSSES = "losses as misses"
VERDICTS = {
    "better": "B is better",
    "worse": "B is worse",
    "no difference shown": "no difference shown",
    "undetermined": "undetermined",
}
PARTS_SHOWN = 4  # of what differs; the rest is counted
_ROWS = 20  # of tasks; the page has them all

Windows = tuple[int | None, int | None]
"""The windows of A and of B in tokens, where they are known."""


def comparison_lines(runs: Sequence[ComparedRun], windows: Mapping[str, int | None]) -> list[str]:
    """Return what a terminal has of all runs: losses, a row for each, cautions. `windows`: in tokens, if known."""
    if not runs:
        return []
    losses = losses_lines(runs, windows)
    table = runs_table(runs)
    return [*losses, *([""] if losses else []), *aligned([table.head, *table.rows], names=1), *run_notes(runs)]


def pair_lines(pair: Comparison) -> list[str]:
    """Return what a terminal has of one pair: a row for each task where there are several, and counts of the rest."""
    lines = [*_task_lines(pair.tasks), ""] if len(pair.tasks) > 1 else []
    lines.append(f"pairs: {pair.pairs}{''.join(f', {part}' for part in left_out(pair))}")
    lines += [f"{name}: {outcomes_of_run(pair, side)}" for side, name in enumerate("AB")]
    regressed, improved = (len(pair.changed(sign)) for sign in (-1, 1))
    lines.append(f"means of cells as seen: {counted(regressed, 'cell')} regressed, {improved} improved")
    return [*lines, *cautions(pair)]


def loss_words(losses: Losses, windows: Windows = (None, None), names: tuple[str, str] = ("A", "B")) -> str:
    """`B cannot answer 12 of 36 trials that A scored: all 12 at 2k (12 skipped); window 1024, A had 8192`."""
    name, other = names[losses.side], names[1 - losses.side]
    smaller, larger = windows[losses.side], windows[1 - losses.side]
    window = "" if smaller is None or smaller == larger else f"; window {smaller}"
    window += f", {other} had {larger}" if window and larger is not None else ""
    return f"{name} cannot answer {losses.lost} of {losses.of} trials that {other} scored: {lost_words(losses)}{window}"


def lost_words(losses: Losses) -> str:
    """`all 12 at 2k (12 skipped)`."""
    labels = length_labels([*losses.by_length])
    lengths = [
        f"all {of} at {label}" if lost == of else f"{lost} of {of} at {label}"
        for label, (lost, of) in zip(labels, losses.by_length.values(), strict=True)
    ]
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in losses.outcomes.items())
    return f"{', '.join(lengths)} ({outcomes})"


def losses_lines(runs: Sequence[ComparedRun], windows: Mapping[str, int | None]) -> list[str]:
    """`small cannot answer 12 of 36 trials that f16 scored: all 12 at 2k (12 skipped); window 1024, f16 had 8192`."""
    return [
        loss_words(loss, (windows.get(run.base), windows.get(run.name)), (one_line(run.base), one_line(run.name)))
        for run in runs
        for loss in (run.pair.whole.losses if run.pair else ())
    ]


def differing_lines(parts: Sequence[str], runs: str, rest: str) -> list[str]:
    """Return what differs between two `runs` besides their scores; `rest`: where the parts are that are not shown."""
    lines = [one_line(part) for part in parts]
    more = [f"and {len(lines) - PARTS_SHOWN} more, {rest}"] if len(lines) > PARTS_SHOWN else []
    return [f"differs between {runs} (A / B):", *(f"  {part}" for part in [*lines[:PARTS_SHOWN], *more])]


def run_head(runs: Sequence[ComparedRun]) -> tuple[str, ...]:
    """The columns of the table of runs."""
    bases = {run.base for run in runs[1:]}
    difference = f"- {one_line(runs[0].name)}" if bases <= {runs[0].name} else "- the one before"
    losses = (LOSSES,) if _has_losses(runs) else ()
    return (
        "configuration",
        "trials",
        "score % (95 %)",
        difference,
        "95 %",
        *losses,
        "p (Holm)",
        "worse from",
        "verdict",
    )


def runs_table(runs: Sequence[ComparedRun]) -> Table:
    """A row for each run."""
    rows = [_run_row(run, is_first=run is runs[0], losses=_has_losses(runs)) for run in runs]
    return Table("", run_head(runs), tuple(rows))


def lengths_table(runs: Sequence[ComparedRun]) -> Table:
    """The score of each run at each length, and of how many trials."""
    lengths = sorted({length for run in runs for length in run.lengths})
    rows = [(run.name, *(_at_length(run.lengths.get(length)) for length in lengths)) for run in runs]
    return Table("", ("score % (scored of trials)", *length_labels(lengths)), tuple(rows))


def _at_length(scores: Tally | None) -> str:
    if scores is None:
        return ""
    return f"{NONE if scores.mean is None else percent1(scores.mean)} ({trials_words(scores)})"


def sides_table(task: TaskDifference) -> Table:
    """The scores of both runs over the pairs of a task, and their trials without a score."""
    rows = [
        ("AB"[side], *_mean_and_ends(task, side), *(str(task.outcomes[side][name]) for name in UNSCORED))
        for side in (0, 1)
    ]
    caption = "Both runs: scores over the pairs, and trials without a score"
    return Table(caption, ("run", "score %", "95 % interval", *UNSCORED), tuple(rows))


def group_tables(task: TaskDifference) -> tuple[Table, Table]:
    """The differences of a task by length and by depth, each interval as if it were the only one."""
    lengths, depths = length_labels(list(task.columns)), [depth_label(depth) for depth in task.rows]
    return (
        _group_table("By context length", "length", lengths, list(task.columns.values())),
        _group_table("By depth", "depth %", depths, list(task.rows.values())),
    )


def _group_table(caption: str, name: str, labels: Sequence[str], groups: Sequence[GroupDifference]) -> Table:
    rows = []
    for label, group in zip(labels, groups, strict=True):
        scores = [f"{mean} ({ends})" if mean != NONE else NONE for mean, ends in _both_sides(group)]
        rows.append((label, *scores, *_difference(group), str(group.n), str(group.unscored)))
    return Table(caption, (name, "A % (95 %)", "B % (95 %)", "B - A", "95 %", "pairs", "no pair"), tuple(rows))


def _both_sides(group: GroupDifference) -> list[tuple[str, str]]:
    return [_mean_and_ends(group, side) for side in (0, 1)]


def _mean_and_ends(group: GroupDifference, side: int) -> tuple[str, str]:
    mean, interval = group.means[side], group.intervals[side]
    ends = f"{percent1(interval.low)}–{percent1(interval.high)}" if interval else NONE
    return (NONE, NONE) if mean is None else (percent1(mean), ends)


def _run_row(run: ComparedRun, *, is_first: bool, losses: bool) -> tuple[str, ...]:
    scores = (one_line(run.name), trials_words(run.scores), _score(run.scores))
    if run.pair is None:
        verdict = "the first" if is_first else "not compared" if run.why else NONE
        return (*scores, *[NONE] * (5 if losses else 4), verdict)
    whole = run.pair.whole
    lengths = sorted(run.pair.lengths)
    labels = dict(zip(lengths, length_labels(lengths), strict=True))
    worse_from = NONE if run.worse_from is None else labels[run.worse_from]
    return (*scores, *_difference(whole), *_as_misses(whole, losses), adjusted_p(whole), worse_from, whole.verdict)


def _has_losses(runs: Sequence[ComparedRun]) -> bool:
    return any(run.pair.whole.losses for run in runs if run.pair)


def run_notes(runs: Sequence[ComparedRun]) -> list[str]:
    """What makes the rows mean less than they seem to."""
    lines = [f"{one_line(run.name)} is not compared: {one_line(run.why)}" for run in runs if run.why]
    for run in runs:
        if run.pair and run.pair.prompts_differ:
            trials = counted(run.pair.prompts_differ, "trial")
            lines.append(f"caution: {one_line(run.name)} was asked other prompts in {trials} (another tokenizer?)")
        worse = [task_name(task.family) for task in (run.pair.tasks if run.pair else ()) if task.verdict == "worse"]
        if worse and run.verdict != "worse":
            lines.append(f"{one_line(run.name)} is worse in {', '.join(worse)}")
    few = [(run.name, run.pair.whole.tests) for run in runs if run.pair and run.verdict == "undetermined"]
    if few:
        needed = max(needed_samples(tests) for _, tests in few)
        names = ", ".join(one_line(name) for name, _ in few)
        lines.append(f"undetermined: too few samples for a verdict ({names}); give --repeats {needed} or more")
    return lines


def cautions(pair: Comparison) -> list[str]:
    """What makes the numbers of a pair mean less than they seem to; empty where nothing does."""
    lines = [f"caution: {words}" for task in pair.tasks if (words := few_words(task))]
    if pair.scorers_differ:
        lines.append(f"caution: {pair.scorers_differ} pairs were judged by different scorers")
    if pair.prompts_unknown:
        lines.append(f"{counted(pair.prompts_unknown, 'trial')} without a prompt hash on one side, not checked")
    return lines


def few_words(task: TaskDifference) -> str:
    """What few samples leave open; empty from six on."""
    difference = task.difference
    if difference is None or difference.clusters >= FEWEST_FOR_P:
        return ""
    name = task_name(task.family)
    if difference.clusters == 1:
        return f"{name}: one sample: the runs differ by {points1(difference.mean)} on it; says nothing of other needles"
    return f"{name}: from {difference.clusters} samples; a verdict takes {FEWEST_FOR_P}"


def outcomes_of_run(pair: Comparison, side: int) -> str:
    """`80 trials, 76 scored (2 empty), 3 censored, 1 error` of one run: 0 is A, 1 is B."""
    counts: Counter[OutcomeName] = Counter()
    for task in pair.tasks:
        counts.update(task.outcomes[side])
    scored = sum(counts[name] for name in SCORED)
    nothing = ", ".join(f"{counts[name]} {name}" for name in NOTHING_SAID if counts[name])
    parts = [counted(sum(counts.values()), "trial"), f"{scored} scored{f' ({nothing})' if nothing else ''}"]
    return ", ".join([*parts, *(f"{counts[name]} {name}" for name in UNSCORED if counts[name])])


def left_out(pair: Comparison) -> list[str]:
    """Trials that are in no pair, by why."""
    words = ("unscored in A only", "unscored in B only", "unscored in both", "only in A", "only in B")
    return [f"{count} {why}" for count, why in zip((*pair.unscored, *pair.only), words, strict=True) if count]


def task_name(family: Family) -> str:
    """`task · needle`, after the model where runs of several models are compared."""
    return one_line(" · ".join(part for part in family if part))


def task_sentence(task: TaskDifference) -> str:
    """`B - A = +5.3 points (95 % interval -1.2..+11.8), n = 75 pairs · no difference shown · 3 trials without a pair`.

    The last part only where there are any.
    """
    difference = task.difference
    if difference is None:
        parts = ["no pair of scores"]
    else:
        ends = interval_words(difference)
        interval = f"95 % interval {ends}" if ends else "too few samples for an interval"
        parts = [f"B - A = {points1(difference.mean)} points ({interval}), n = {counted(difference.n, 'pair')}"]
        parts.append(VERDICTS[task.verdict])
    if task.unscored:
        parts.append(f"{counted(task.unscored, 'trial')} without a pair")
    return " · ".join([*parts, *([f"{LOSSES}: {_with_ends(task.counted)}"] if task.losses else [])])


def tasks_table(tasks: Sequence[TaskDifference]) -> Table:
    """A row for each task, in columns that all of them need."""
    models, losses = any(task.family[0] for task in tasks), any(task.losses for task in tasks)
    names = (*(("model",) if models else ()), "task", "needle")
    numbers = ("pairs", "A % (95 %)", "B % (95 %)", "B - A", "95 %", *((LOSSES,) if losses else ()), "p (Holm)")
    rows = [
        (
            *map(one_line, task.family[0 if models else 1 :]),
            str(task.n),
            *map(score_words, task.means, task.intervals),
            *_difference(task),
            *_as_misses(task, losses),
            adjusted_p(task),
            task.verdict,
        )
        for task in tasks
    ]
    bars = tuple(_bar(task.difference) for task in tasks)
    return Table("", (*names, *numbers, "verdict"), tuple(rows), names=len(names), bars=bars)


def _bar(difference: Difference | None) -> IntervalBar | None:
    """A difference on a scale from -100 to +100 points, 0..1."""
    if difference is None or difference.low is None or difference.high is None:
        return None
    low, mean, high = (0.5 + value / 2 for value in (difference.low, difference.mean, difference.high))
    return low, mean, high


def _task_lines(tasks: Sequence[TaskDifference]) -> list[str]:
    table = tasks_table(tasks[:_ROWS])
    more = [f"and {len(tasks) - _ROWS} more"] if len(tasks) > _ROWS else []
    return [*aligned([table.head, *table.rows], names=table.names), *more]


def _difference(test: GroupDifference) -> tuple[str, str]:
    """B - A and its interval."""
    if test.difference is None:
        return NONE, NONE
    return points1(test.difference.mean), interval_words(test.difference) or NONE


def _as_misses(test: JudgedDifference, shown: bool) -> tuple[str, ...]:
    return (NONE if test.counted is None else points1(test.counted.mean),) if shown else ()


def adjusted_p(test: JudgedDifference) -> str:
    """The adjusted p value in words."""
    return NONE if test.p_adjusted is None else p_words(test.p_adjusted)


def _with_ends(difference: Difference | None) -> str:
    """`-33.3 (-63.7..-2.9)`, points."""
    if difference is None:
        return NONE
    ends = interval_words(difference)
    return f"{points1(difference.mean)} ({ends})" if ends else points1(difference.mean)


def score_words(mean: float | None, interval: Interval | None) -> str:
    """`80.0 (70.0..87.3)`, percent."""
    if mean is None:
        return NONE
    ends = f" ({percent1(interval.low)}..{percent1(interval.high)})" if interval else ""
    return f"{percent1(mean)}{ends}"


def trials_words(scores: Tally) -> str:
    """`36`; `30 of 36` where some trials have no score."""
    return str(scores.n) if scores.n == scores.trials else f"{scores.n} of {scores.trials}"


def _score(scores: Tally) -> str:
    """`87.5 (81.0..92.1)`; `50.4..100, scored 100 (97.0..100)` where answers are undecided."""
    scored = score_words(scores.mean, scores.interval)
    if scores.range is None:
        return scored
    ends = "..".join(map(percent1, scores.range))
    return ends if scores.mean is None else f"{ends}, scored {scored}"
