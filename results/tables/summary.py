"""The last lines of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Literal

from needlework.results.report.adaptive import adaptive_lines
from needlework.results.report.section import section_lines
from needlework.results.report.sections import run_sections
from needlework.results.statistics.panels import Tally
from needlework.results.statistics.run_followup import asks_again
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import Headline, headline_of
from needlework.results.statistics.wording import score_and_interval
from needlework.results.style import ColorsName, can_encode, fit, folded, folded_table, one_line
from needlework.results.tables.terminal import panel_table, terminal_grid, terminal_heatmaps

_MOST_PANELS = 12  # heatmaps in a terminal; a run with more shows its table
_NO_MISS = ("found", "error", "skipped")


def run_lines(
    report: RunReport, *, color: bool, encoding: str | None, width: int, colors: ColorsName = "viridis"
) -> list[str]:
    """Every panel as a heatmap of text, where they are not too many, a table of the tasks, summaries of suites.

    `width`: terminal columns; the others as for `terminal_heatmaps`.
    """
    shown = report.panels if len(report.panels) <= _MOST_PANELS else ()
    lines = terminal_heatmaps(shown, color=color, encoding=encoding, width=width, colors=colors)
    ascii_only = not can_encode(encoding)
    for block in (
        section_lines(run_sections(report), ascii_only=ascii_only, width=width),
        adaptive_lines(report.adaptive, ascii_only=ascii_only),
    ):
        lines += [*([""] if lines and block else []), *block]
    return [*lines, *report.notes]


def markdown_lines(report: RunReport) -> list[str]:
    """A table with a row for each panel, and summaries of suites."""
    sections = [each for each in run_sections(report) if each.name != "tasks"]
    summary = [*section_lines(sections), *adaptive_lines(report.adaptive)]
    block = ["", "```", *summary, "```"] if summary else []
    notes = ["", *(f"- {escape(note, quote=False)}" for note in report.notes)] if report.notes else []
    return [*panel_table(report.panels, report.statistics, report.adaptive), *block, *notes]


def next_line(report: RunReport, folder: str) -> str:
    """What to do after the run, with `folder` as the user would write it; trials that failed come first."""
    again = asks_again(report.records, report.facts.name if report.facts else "")
    line = f"next: {again}{'; ' if again else ''}open {folder}/report.html (a click on a cell shows its answers)"
    missed = first_miss(report)
    return line if missed is None else f"{line}; needlework prompt {folder} {missed} prints what the model saw"


def first_miss(report: RunReport) -> str | None:
    """The first trial that a model answered, and not rightly: one that was not answered shows nothing it saw."""
    return next((record.id for record in report.records if record.outcome not in _NO_MISS), None)


_LONGEST_NAME = 32  # columns of a task's name, or of a model's as the head of a column
_FEWEST = 4  # rows of tasks that are worth a table
_NONE = "–"


def brief_lines(
    report: RunReport, *, room: int, color: bool, encoding: str | None, width: int, colors: ColorsName = "viridis"
) -> list[str]:
    """At most `room` lines of at most `width` columns. `color`, `encoding`, `colors`: as for `terminal_heatmaps`."""
    lines = _suite_lines(report, room, width, ascii_only=not can_encode(encoding))
    left = room - len(lines) - bool(lines)
    if len(report.panels) == 1:
        grid = terminal_grid(report.panels[0], room=left, color=color, encoding=encoding, width=width, colors=colors)
    else:
        grid = _task_lines(report, left, width)
    return [*grid, *([""] if grid and lines else []), *lines]


def _suite_lines(report: RunReport, room: int, width: int, *, ascii_only: bool) -> list[str]:
    """The tables that published suites are known for, whole or not at all."""
    found: list[str] = []
    sections = [each for each in run_sections(report) if each.brief]
    for block in (
        adaptive_lines(report.adaptive, ascii_only=ascii_only),
        *(section_lines([each], ascii_only=ascii_only, width=width) for each in sections),
    ):
        lines = [part for line in block for part in (folded(line, width) if len(line) > width else [line])]
        if lines and len(found) + bool(found) + len(lines) <= room - _FEWEST:
            found += [*([""] if found else []), *lines]
    return found


def _task_lines(report: RunReport, room: int, width: int) -> list[str]:
    """A row for each task and retriever, the lowest score first where they are too many; models side by side."""
    models = report.models
    scores: dict[str, dict[str, Tally]] = {}
    for row in report.tasks:
        scores.setdefault(row.task, {})[row.model] = row.overall
    for arm in report.retrieval:
        scores.setdefault(f"{arm.task} {arm.retriever}", {})[arm.model] = arm.score
    if not scores or room < 2:
        return []
    names = list(scores)
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    if len(models) == 1:
        head = ("task", "score %", "95 %", "n")
        rows = [(fit(one_line(name), _LONGEST_NAME), *_cells(scores[name].get(models[0]))) for name in names]
    else:
        head = ("score %", *(fit(one_line(model), _LONGEST_NAME) for model in models))
        rows = [
            (fit(one_line(name), _LONGEST_NAME), *(_cells(scores[name].get(model))[0] for model in models))
            for name in names
        ]
    return _fitting(head, rows, [_least(each.values()) for each in scores.values()], room, width)


def _fitting(
    head: tuple[str, ...], rows: list[tuple[str, ...]], least: Sequence[float], room: int, width: int
) -> list[str]:
    """The table, or as many of its lowest rows as there is room for, and how many are left out."""
    whole = list(folded_table([head, *rows], 1, width))
    if len(whole) <= room:
        return whole
    blocks = max(1, -(-len(whole) // (len(rows) + 1)))
    fits = (room - 1) // blocks - 1
    if fits < 1:
        return []
    lowest = sorted(sorted(range(len(rows)), key=lambda at: least[at])[:fits])
    kept = list(folded_table([head, *(rows[at] for at in lowest)], 1, width))
    left = len(rows) - fits
    return [*kept, *folded(f"... and {left} more that score higher or the same, in the report", width)[:1]]


def _cells(found: Tally | None) -> tuple[str, str, str]:
    if found is None:
        return _NONE, _NONE, _NONE
    score, interval = score_and_interval(found)
    return score, interval, str(found.n)


def _least(found: Iterable[Tally]) -> float:
    return min((each.mean for each in found if each.mean is not None), default=-1.0)


MOST = 24  # lines of ours below the progress; pytest's last one is the 25th
_FAULTS, _NOTES, _MODELS = 3, 4, 3  # how many of each are told
_LONGEST = 3  # lines of one of them

Line = tuple[str, Literal["red", "yellow", "green", ""]]


def ending(
    report: RunReport,
    *,
    skipped: Sequence[str],
    folder: str,
    last: int,
    width: int,
    encoding: str | None,
    color: bool,
    colors: ColorsName = "viridis",
    quiet: bool = False,
) -> Iterator[Line]:
    """At most `MOST` lines of at most `width` columns, `last` of which others need. `folder`: as the user types it.

    `skipped`: what else is to be said of this session's trials. `quiet`: without the grid and the notes.
    """
    found = headline_of(report)
    above = [*_wrapped(found.sentence, width)]
    for sentence in () if quiet else found.models[:_MODELS]:
        above += [(line, "") for line in _cut(f"- {sentence}", width)]
    wrong = _wrong(found, [*([] if quiet else report.notes), *skipped], width)
    below = [*wrong, *_next(report, found, folder, width, quiet=quiet)]
    yield from above
    room = MOST - last - len(above) - len(below) - 2
    if not quiet and room > 0:
        grid = brief_lines(report, room=room, color=color, encoding=encoding, width=width, colors=colors)
        yield from ((line, "") for line in (["", *grid, ""] if grid else []))
    yield from below


def _cut(text: str, width: int) -> list[str]:
    """The first lines of a text, marked where it goes on: the report has all of it."""
    lines = folded(text, width)
    kept = lines[:_LONGEST]
    if len(lines) <= _LONGEST:
        return kept
    last = fit(kept[-1], width - 4, "")
    whole = last if last == kept[-1] or " " not in last.strip() else last.rpartition(" ")[0]
    return [*kept[:-1], f"{whole.rstrip(' ([{,;:')} ..."]


def _wrapped(text: str, width: int) -> Iterator[Line]:
    yield from ((line, "") for line in folded(text, width, ""))


def _wrong(found: Headline, notes: Sequence[str], width: int) -> Iterator[Line]:
    """Faults by reason, then notes; of each the first ones."""
    for fault in found.faults[:_FAULTS]:
        for line in _cut(fault.text, width):
            yield line, "red"
    if (left := len(found.faults) - _FAULTS) > 0:
        yield f"and {left} more {'reason' if left == 1 else 'reasons'}, in the report", "red"
    told = notes if len(notes) <= _NOTES else notes[: _NOTES - 1]
    for note in told:
        for line in _cut(note, width):
            yield line, "yellow"
    if len(notes) > len(told):
        yield f"and {len(notes) - len(told)} more notes, in the report", "yellow"


def _next(report: RunReport, found: Headline, folder: str, width: int, *, quiet: bool) -> Iterator[Line]:
    """Where the report is, what the model saw of a miss, and what would make the answer surer."""
    more = "" if quiet else "  (a click on a cell shows its answers; -v prints every table)"
    yield from _wrapped(f"report: {folder}/report.html{more}", width)
    if quiet:
        return
    missed = first_miss(report)
    if missed is not None:
        *first, end = folded(f"what the model saw: needlework prompt {folder} {missed}", width - 2)
        yield from ((f"{line} \\", "") for line in first)
        yield end, ""
    if found.next_run is not None and found.next_run.repeats:
        words = f"surer: the same command with --repeats {found.next_run.repeats} ({found.next_run.what})"
        yield from ((line, "") for line in folded(words, width))
    elif found.next_run is not None:
        yield from ((line, "") for line in folded(f"surer: {fit(found.next_run.what, 200)}", width))
