"""Comparisons of runs: their sections, and one sentence."""

from collections.abc import Iterable, Sequence

from needlework.core.grid import depth_label
from needlework.core.record import NOTHING_SAID, SCORED, UNSCORED
from needlework.results.records.samples import grouped
from needlework.results.report.charts import score_lines
from needlework.results.report.section import Section, Table, filled_table, section_lines
from needlework.results.statistics import wording
from needlework.results.statistics.comparison import comparison
from needlework.results.statistics.comparison.provenance import weights_lines
from needlework.results.statistics.paired import FEWEST_FOR_P, LEVEL, samples_for_p
from needlework.results.statistics.panels import Tally
from needlework.results.style import NONE, counted, length_label, length_labels, one_line, percent1

LOSSES = "losses as misses"
_P_DECIDES = (
    "p and the 95 % interval disagree, and p decides: the interval (Student's t) assumes a distribution of scores, p"
    " (sign flips, adjusted by Holm) does not"
)
PARTS_SHOWN = 4  # of what differs; the rest is counted


def comparison_sentence(runs: Sequence[comparison.ComparedRun]) -> str:
    """`Compared with base, worse: b (-28.0 points, 95 % sure: -35.1..-20.9); no difference shown: c.`"""
    groups: dict[str, list[comparison.ComparedRun]] = {**grouped(runs[1:], lambda run: run.verdict or "not compared")}
    groups["worse in some tasks"] = [run for run in runs if run.is_worse and run.verdict != "worse"]
    order = ("worse", "worse in some tasks", "better", "no difference shown", "undetermined", "not compared")
    parts = [f"{name}: {', '.join(map(_named, group))}" for name in order if (group := groups.get(name))]
    base = one_line(runs[0].name) if {run.base for run in runs[1:]} == {runs[0].name} else "the run before it"
    return f"Compared with {base}, {'; '.join(parts)}." if parts else ""


def _named(run: comparison.ComparedRun) -> str:
    test = run.pair.whole.counted if run.pair and run.verdict in ("worse", "better") else None
    if test is None:
        return one_line(run.name)
    ends = wording.interval_words(test)
    return f"{one_line(run.name)} ({wording.points1(test.mean)} points{f', 95 % sure: {ends}' if ends else ''})"


def comparison_lines(runs: Sequence[comparison.ComparedRun]) -> list[str]:
    """Return a comparison for a terminal: all runs, and the details of a pair that is the only one."""
    sections, pairs = comparison_sections(runs), [run for run in runs if run.pair]
    if len(pairs) == 1:
        sections += pair_sections(pairs[0], runs)
    return section_lines(sections)


def comparison_sections(runs: Sequence[comparison.ComparedRun]) -> list[Section]:
    """Trials that one run lost, a row for each run, the score at each length."""
    windows = {run.name: run.window for run in runs}
    losses = tuple(
        loss_words(loss, (windows.get(run.base), run.window), (one_line(run.base), one_line(run.name)))
        for run in runs
        for loss in (run.pair.whole.losses if run.pair else ())
    )
    charts = tuple(score_lines({run.name: run.lengths for run in runs}, "scores", "Score over length"))
    same_weights = weights_lines({run.name: run.manifest for run in runs})
    lengths = sorted({length for run in runs for length in run.lengths})
    by_length = [(one_line(run.name), *(_at_length(run.lengths.get(length)) for length in lengths)) for run in runs]
    scores = Table("", ("score % (scored of trials)", *length_labels(lengths)), tuple(by_length))
    return [
        *([Section("Trials that one run alone could not answer", notes=losses)] if losses else []),
        Section("Runs", (_runs_table(runs),), notes=(*_run_notes(runs), *same_weights)),
        Section("By length", (scores,), charts=charts),
    ]


def loss_words(losses: comparison.Losses, windows: tuple[int | None, int | None], names: tuple[str, str]) -> str:
    """`B cannot answer 12 of 36 trials that A scored: all 12 at 2k (12 skipped); window 1024, A had 8192`.

    `windows`: of A and of B in tokens, where they are known.
    """
    name, other = names[losses.side], names[1 - losses.side]
    smaller, larger = windows[losses.side], windows[1 - losses.side]
    window = "" if smaller is None or smaller == larger else f"; window {smaller}"
    window += f", {other} had {larger}" if window and larger is not None else ""
    return f"{name} cannot answer {losses.lost} of {losses.of} trials that {other} scored: {lost_words(losses)}{window}"


def lost_words(losses: comparison.Losses) -> str:
    """`all 12 at 2k (12 skipped)`."""
    lengths = [
        f"{f'all {of}' if lost == of else f'{lost} of {of}'} at {length_label(length)}"
        for length, (lost, of) in losses.by_length.items()
    ]
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in losses.outcomes.items())
    return f"{', '.join(lengths)} ({outcomes})"


def differing_lines(parts: Sequence[str], runs: str, rest: str) -> list[str]:
    """Return the differences of two `runs` besides scores; `rest`: where the hidden ones are."""
    lines = [one_line(part) for part in parts]
    more = [f"and {len(lines) - PARTS_SHOWN} more, {rest}"] if len(lines) > PARTS_SHOWN else []
    return [f"differs between {runs} (A / B):", *(f"  {part}" for part in [*lines[:PARTS_SHOWN], *more])]


def _runs_table(runs: Sequence[comparison.ComparedRun]) -> Table:
    is_first = {run.base for run in runs[1:]} <= {run.name for run in runs[:1]}
    base = f"- {one_line(runs[0].name)}" if is_first and runs else "- the one before"
    names = ("configuration", "trials", "score % (95 %)", base, "95 %", LOSSES, "p (Holm)", "worse from", "verdict")
    losses = any(run.pair.whole.losses for run in runs if run.pair)
    rows = []
    for run in runs:
        cells = (one_line(run.name), _trials(run.scores), score_cell(run.scores))
        if run.pair is None:
            rows.append((*cells, *[NONE] * 5, "not compared" if run.base else "the first"))
            continue
        whole = run.pair.whole
        worse_from = NONE if run.worse_from is None else length_label(run.worse_from)
        rows.append((*cells, *_difference_cells(whole, losses), worse_from, whole.verdict))
    return filled_table("", names, rows, 1)


def _run_notes(runs: Sequence[comparison.ComparedRun]) -> list[str]:
    """Cautions about the rows."""
    lines = [f"{one_line(run.name)} is not compared: {one_line(run.why)}" for run in runs if run.why]
    for run in runs:
        if run.pair and run.pair.reworded:
            trials = counted(len(run.pair.reworded), "trial")
            lines.append(f"caution: {one_line(run.name)} was asked other prompts in {trials} (another tokenizer?)")
        if run.worse_tasks and run.verdict != "worse":
            lines.append(
                f"{one_line(run.name)} is worse in {', '.join(task_name(task.family) for task in run.worse_tasks)}"
            )
    against = [one_line(run.name) for run in runs if run.pair and run.pair.whole.contradicts_interval]
    lines += [f"{', '.join(against)}: {_P_DECIDES}"] * bool(against)
    few = [(one_line(run.name), run.pair.whole.tests) for run in runs if run.pair and run.verdict == "undetermined"]
    if few:
        needed = max(samples_for_p(LEVEL / tests) for _, tests in few)
        names = ", ".join(name for name, _ in few)
        lines.append(f"undetermined: too few samples for a verdict ({names}); give --repeats {needed} or more")
    return lines


def pair_sections(run: comparison.ComparedRun, runs: Sequence[comparison.ComparedRun]) -> list[Section]:
    """A run against its base: the tasks, what is in no pair, cautions, what differs beside the scores."""
    pair, labels = run.pair, {each.name: each.label or one_line(each.name) for each in runs}
    if pair is None:
        return []
    words = ("unscored in A only", "unscored in B only", "unscored in both", "only in A", "only in B")
    left_out = [f", {count} {why}" for count, why in zip((*pair.unscored, *pair.only), words, strict=True) if count]
    regressed, improved = (len(pair.changed(sign)) for sign in (-1, 1))
    notes = [
        f"A: {labels[run.base]}: {_outcomes(pair, 0)}",
        f"B: {labels[run.name]}: {_outcomes(pair, 1)}",
        f"pairs: {pair.whole.n}{''.join(left_out)}",
        f"means of cells as seen: {counted(regressed, 'cell')} regressed, {improved} improved",
        *_cautions(pair),
    ]
    parts = run.parts or ("nothing that their manifests or records name",)
    return [
        Section(f"{run.name} against {run.base}", (tasks_table(pair.tasks),), notes=tuple(notes)),
        Section("What differs between the runs (A / B)", notes=parts),
    ]


def _outcomes(pair: comparison.Comparison, side: int) -> str:
    """`80 trials, 76 scored (2 empty), 3 censored, 1 error` of one run: 0 is A, 1 is B."""
    counts = pair.outcomes[side]
    scored = sum(counts.get(name, 0) for name in SCORED)
    nothing = ", ".join(f"{counts[name]} {name}" for name in NOTHING_SAID if counts.get(name))
    parts = [counted(sum(counts.values()), "trial"), f"{scored} scored{f' ({nothing})' if nothing else ''}"]
    return ", ".join([*parts, *(f"{counts[name]} {name}" for name in UNSCORED if counts.get(name))])


def _cautions(pair: comparison.Comparison) -> list[str]:
    """Cautions about a pair's numbers; empty without any."""
    lines = []
    for task in pair.tasks:
        difference, name = task.whole.difference, task_name(task.family)
        if difference is not None and difference.clusters < FEWEST_FOR_P:
            samples = counted(difference.clusters, "sample")
            lines.append(f"caution: {name}: from {samples}; a verdict takes {FEWEST_FOR_P}")
    against = [task_name(task.family) for task in pair.tasks if task.whole.contradicts_interval]
    lines += [f"{', '.join(against)}: {_P_DECIDES}"] * bool(against)
    if pair.scorers_differ:
        lines.append(f"caution: {pair.scorers_differ} pairs were judged by different scorers")
    if pair.prompts_unknown:
        lines.append(f"{counted(pair.prompts_unknown, 'trial')} without a prompt hash on one side, not checked")
    return lines


def task_name(family: comparison.Family) -> str:
    """`task · needle`, after the model where runs of several models are compared."""
    return one_line(" · ".join(part for part in family if part))


def task_sentence(task: comparison.TaskDifference) -> str:
    """`B - A = +5.3 points (95 % interval -1.2..+11.8), n = 75 pairs · no difference shown`."""
    difference, pairs = task.whole.difference, counted(task.whole.n, "pair")
    if difference is None:
        return "no pair of scores"
    interval = wording.interval_words(difference)
    ends = f"95 % interval {interval}" if interval else "no interval: few samples"
    return f"B - A = {wording.points1(difference.mean)} points ({ends}), n = {pairs} · {task.whole.verdict}"


def tasks_table(tasks: Sequence[comparison.TaskDifference]) -> Table:
    """A row for each task, in columns that all of them need."""
    numbers = ("pairs", "no pair", "A % (95 %)", "B % (95 %)", "B - A", "95 %", LOSSES, "p (Holm)", "verdict")
    losses = any(task.whole.losses for task in tasks)
    rows = [
        (
            *map(one_line, task.family),
            str(task.whole.n),
            str(task.whole.unscored or NONE),
            *map(wording.share_cell, task.whole.scores),
            *_difference_cells(task.whole, losses),
            task.whole.verdict,
        )
        for task in tasks
    ]
    head = ("model", "task", "needle", *numbers)
    return filled_table("", head, rows, 3)


def group_tables(task: comparison.TaskDifference) -> tuple[Table, Table]:
    """The differences of a task by length and by depth, each interval as if it were the only one."""
    lengths, depths = length_labels(list(task.columns)), [depth_label(depth) for depth in task.rows]
    return (
        _group_table("By context length", "length", lengths, task.columns.values()),
        _group_table("By depth", "depth %", depths, task.rows.values()),
    )


def _group_table(caption: str, name: str, labels: Iterable[str], groups: Iterable[comparison.GroupDifference]) -> Table:
    rows = [
        (
            label,
            *map(wording.share_cell, group.scores),
            *wording.points_cells(group.difference),
            str(group.n),
            str(group.unscored),
        )
        for label, group in zip(labels, groups, strict=True)
    ]
    return Table(caption, (name, "A % (95 %)", "B % (95 %)", "B - A", "95 %", "pairs", "no pair"), tuple(rows))


def _difference_cells(test: comparison.GroupDifference, losses: bool) -> tuple[str, ...]:
    """B - A, its interval, B - A with losses as misses where these are shown, the adjusted p."""
    as_misses = wording.points_cells(test.counted)[0] if losses else NONE
    return (
        *wording.points_cells(test.difference),
        as_misses,
        NONE if test.p_adjusted is None else wording.p_words(test.p_adjusted),
    )


def score_cell(scores: Tally) -> str:
    """`87.5 (81.0–92.1)`; `50.4–100, scored 100 (97.0–100)` with undecided answers."""
    if scores.range is None:
        return wording.share_cell(scores.share)
    return ", ".join(text for text in wording.score_and_interval(scores) if text != NONE)


def _at_length(scores: Tally | None) -> str:
    if scores is None:
        return ""
    return f"{NONE if scores.mean is None else percent1(scores.mean)} ({_trials(scores)})"


def _trials(scores: Tally) -> str:
    """`36`; `30 of 36` where some trials have no score."""
    return str(scores.n) if scores.n == scores.trials else f"{scores.n} of {scores.trials}"
