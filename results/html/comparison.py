"""The page of a comparison: a row for each run, and for each pair its tasks, heatmaps and both answers side by side."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

from needlework.core.grid import depth_label
from needlework.core.record import UNSCORED
from needlework.results.html.charts import grid_view, table_view
from needlework.results.html.details import TrialDetails, fit
from needlework.results.html.page import page
from needlework.results.html.panels import NO_SCORE, axes_data
from needlework.results.html.report import LIMIT_BYTES, NOTICE_BYTES
from needlework.results.html.text import on_one_line, percent_number
from needlework.results.report.charts import difference_heatmap
from needlework.results.statistics.comparison.comparison import Comparison, GroupDifference, Place, TaskDifference
from needlework.results.statistics.comparison.many_runs import ComparedRun
from needlework.results.statistics.panels import depth_order
from needlework.results.statistics.wording import interval_words, p_words, points1
from needlework.results.style import length_labels, percent1
from needlework.results.tables.comparison import (
    VERDICTS,
    adjusted_p,
    cautions,
    group_tables,
    left_out,
    lengths_table,
    losses_lines,
    outcomes_of_run,
    run_notes,
    runs_table,
    sides_table,
    task_name,
    tasks_table,
)

_LISTED = 200  # cells in a list of what improved or regressed; the rest is counted
_NAMED = 3  # runs that a sentence names of one verdict


def comparison_html(
    runs: Sequence[ComparedRun],
    *,
    title: str,
    labels: Mapping[str, str] | None = None,
    windows: Mapping[str, int | None] | None = None,
    parts: Mapping[str, Sequence[str]] | None = None,
    links: Mapping[str, str] | None = None,
    picture: bytes | None = None,
    notes: Sequence[str] = (),
    limit_bytes: int = LIMIT_BYTES,
) -> str:
    """Return the page of compared runs. It loads nothing.

    By the run's name: `labels`, what to call it in its pair; `windows` in tokens; `parts`, what differs from its base
    (`part: A / B`); `links` to its report. `picture`: a PNG of score over length. Scores and differences are all in the
    page; where `limit_bytes` has no room for all answers, those of trials that both runs judged alike are left out
    first.
    """
    pairs = [(run, run.pair) for run in runs if run.pair is not None]
    offsets = [0, *accumulate(len(pair.tasks) for _, pair in pairs)]
    anchors = {run.name: f"#pair-{number}" for number, (run, _) in enumerate(pairs)}
    fields = {
        "sentence": comparison_sentence(runs) or on_one_line(title),
        "previous": len({run.base for run in runs[1:]}) > 1,
        "first": on_one_line(runs[0].name) if runs else "",
        "losses": [on_one_line(line) for line in losses_lines(runs, windows or {})],
        "notes": [on_one_line(note) for note in (*run_notes(runs), *notes)],
        "runs": table_view(
            runs_table(runs), [(links or {}).get(run.name) or anchors.get(run.name, "") for run in runs]
        ),
        "picture": b64encode(picture).decode() if picture else "",
        "by_length": table_view(lengths_table(runs)),
        "pairs": [
            _pair_view(run, pair, offset, labels or {}, (parts or {}).get(run.name, ()))
            for (run, pair), offset in zip(pairs, offsets, strict=False)
        ],
        "unscored": UNSCORED,
    }
    data = {"families": [_task_data(task) for _, pair in pairs for task in pair.tasks]}

    def with_details(details: str, notice: Sequence[str]) -> str:
        return page("comparison", title, data, details=details, colors="viridis", notice=notice, fields=fields)

    room = limit_bytes - len(with_details("", ()).encode()) - NOTICE_BYTES
    kept = fit(
        [trial for (_, pair), offset in zip(pairs, offsets, strict=False) for trial in _details(pair, offset)], room
    )
    return with_details(kept.packed, kept.notice(limit_bytes))


def comparison_sentence(runs: Sequence[ComparedRun]) -> str:
    """`Against base, b is worse (-28.0 points, 95 % sure: -35.1..-20.9); no difference is shown for c.`"""
    others = runs[1:]
    if not others:
        return ""
    base = on_one_line(runs[0].name, 80) if {run.base for run in others} == {runs[0].name} else "the run before it"
    groups = {verdict: [run for run in others if run.verdict == verdict] for verdict in (*VERDICTS, None)}
    parts = [
        f"{_named(groups[word])} {_is(groups[word])} {word} ({_points(groups[word])})"
        for word in ("worse", "better")
        if groups[word]
    ]
    for verdict, words in (
        ("no difference shown", "no difference is shown for"),
        ("undetermined", "too few samples tell of"),
    ):
        if groups[verdict]:
            parts.append(f"{words} {_named(groups[verdict])}")
    parts += [f"{_named(groups[None])} {_is(groups[None])} not compared"] if groups[None] else []
    in_tasks = [run for run in others if run.is_worse and run.verdict != "worse"]
    parts += [f"{_named(in_tasks)} {_is(in_tasks)} worse in some of the tasks"] if in_tasks else []
    return f"Against {base}, {'; '.join(parts)}."


def _named(runs: Sequence[ComparedRun]) -> str:
    names = [on_one_line(run.name, 80) for run in runs[:_NAMED]]
    names += [f"{len(runs) - _NAMED} more"] if len(runs) > _NAMED else []
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _is(runs: Sequence[ComparedRun]) -> str:
    return "are" if len(runs) > 1 else "is"


def _points(runs: Sequence[ComparedRun]) -> str:
    """The differences that the verdicts rest on; of many runs the first and the last of them by size."""
    wholes = [run.pair.whole for run in runs if run.pair]
    tests = [(test.counted if test.losses and test.counted else test.difference) for test in wholes]
    differences = [difference for difference in tests if difference is not None]
    if len(differences) == 1 and (ends := interval_words(differences[0])):
        return f"{points1(differences[0].mean)} points, 95 % sure: {ends}"
    means = [difference.mean for difference in differences]
    if len(means) <= _NAMED:
        return f"{', '.join(map(points1, means))} points"
    return f"{points1(min(means))} to {points1(max(means))} points"


def _pair_view(
    run: ComparedRun, pair: Comparison, offset: int, labels: Mapping[str, str], parts: Sequence[str]
) -> dict[str, Any]:
    """What the template needs of one pair; `offset`: the number of its first task in the page."""
    return {
        "name": on_one_line(run.name),
        "base": on_one_line(run.base),
        "sides": [
            (on_one_line(labels.get(name, name)), outcomes_of_run(pair, side))
            for side, name in enumerate((run.base, run.name))
        ],
        "pairs": pair.pairs,
        "left_out": left_out(pair),
        "cautions": [on_one_line(line) for line in cautions(pair)],
        "parts": [on_one_line(part) for part in parts],
        "offset": offset,
        "overview": table_view(
            tasks_table(pair.tasks), [f"#panel-{number}" for number in range(offset, offset + len(pair.tasks))]
        ),
        "tasks": [_task_view(task) for task in pair.tasks],
        "changes": _changes(pair, offset),
    }


def _task_view(task: TaskDifference) -> dict[str, Any]:
    """What the template needs of one task.

    `bar`: low, mean and high of B - A, 0..100 for -100..+100 points; `counted`: B - A with losses as misses and its
    interval, where there are losses; `gaps`, `partly`: whether a cell has no pair; has trials without a pair.
    """
    difference, losses = task.difference, task.losses and task.counted
    chart = difference_heatmap(task, (), "", "")
    (bar,) = tasks_table([task]).bars
    return {
        "name": on_one_line(task_name(task.family)),
        "points": NO_SCORE if difference is None else points1(difference.mean),
        "interval": (difference and interval_words(difference)) or NO_SCORE,
        "bar": bar and [percent_number(end) for end in bar],
        "n": task.n,
        "unscored": task.unscored,
        "p": NO_SCORE if task.p is None else p_words(task.p),
        "p_adjusted": adjusted_p(task),
        "counted": (points1(losses.mean), interval_words(losses) or NO_SCORE) if losses else None,
        "verdict": VERDICTS[task.verdict],
        "look": {"better": "good", "worse": "bad"}.get(task.verdict, "void"),
        "grid": grid_view(chart),
        "gaps": bool(chart.marks) or chart.has_blanks,
        "partly": chart.is_partial,
        "sides": table_view(sides_table(task)),
        "groups": [table_view(table) for table in group_tables(task)],
    }


_WORDS: dict[str, Literal[-1, 1]] = {"improved": 1, "regressed": -1}


def _changes(pair: Comparison, offset: int) -> dict[str, tuple[list[tuple[int, int, int, str]], int]]:
    """The cells that improved and regressed, the largest change first: the numbers of task, column and row, and a
    sentence; and how many more there are.
    """
    numbers = {task.family: number for number, task in enumerate(pair.tasks, start=offset)}
    changes = {}
    for word, sign in _WORDS.items():
        cells = pair.changed(sign)
        rows = [
            (
                numbers[task.family],
                list(task.columns).index(place[0]),
                list(task.rows).index(place[1]),
                _sentence(task if len(pair.tasks) > 1 else None, place, cell),
            )
            for task, place, cell in cells[:_LISTED]
        ]
        changes[word] = (rows, len(cells) - len(rows))
    return changes


def _sentence(task: TaskDifference | None, place: Place, cell: GroupDifference) -> str:
    (length,) = length_labels([place[0]])
    name = f"{task_name(task.family)}, " if task else ""
    before, after = (percent1(mean or 0.0) for mean in cell.means)
    mean = points1(cell.difference.mean) if cell.difference else NO_SCORE
    ends = interval_words(cell.difference) if cell.difference else ""
    around = f", 95 % interval {ends}" if ends else ""
    return on_one_line(
        f"{name}length {length}, depth {depth_label(place[1])}: {before} → {after} ({mean}{around}, n = {cell.n})"
    )


def _details(pair: Comparison, offset: int) -> list[TrialDetails]:
    """The trials with their records in both runs, in reading order. Pairs that differ tell the most."""
    numbers = {task.family: number for number, task in enumerate(pair.tasks, start=offset)}
    columns = {task.family: {length: at for at, length in enumerate(task.columns)} for task in pair.tasks}
    rows = {task.family: {depth: at for at, depth in enumerate(task.rows)} for task in pair.tasks}
    entries = []
    for trial in sorted(pair.trials, key=lambda trial: (trial.family, depth_order(trial.depth))):
        first, second = (None if record is None else (record.outcome, record.score) for record in trial.records)
        telling = 0 if first != second else 2 if first is not None and first[0] == "found" else 1
        column, row = columns[trial.family][trial.length], rows[trial.family][trial.depth]
        entries.append(TrialDetails(trial.records, numbers[trial.family], column, row, telling))
    return entries


def _task_data(task: TaskDifference) -> dict[str, Any]:
    """What the script needs: of a cell `[n, A, B, B - A, low, high, unscored]`, percent and points."""

    def numbers(group: GroupDifference | None) -> list[Any] | None:
        if group is None:
            return None
        means = (None if mean is None else percent_number(mean) for mean in group.means)
        difference = group.difference
        shares = (difference.mean, difference.low, difference.high) if difference else (None, None, None)
        in_points = (None if share is None else round(100 * share, 1) + 0.0 for share in shares)
        return [group.n, *means, *in_points, group.unscored]

    return {
        "name": on_one_line(task_name(task.family)),
        **axes_data(list(task.columns), list(task.rows)),
        "columns": [numbers(group) for group in task.columns.values()],
        "cells": [[numbers(cell) for cell in row] for row in task.table],
    }
