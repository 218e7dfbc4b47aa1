"""The end of a run in short: its sentence, its grid, what is wrong, where the report is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from needlework.results.statistics.in_short.sentence import InShort, in_short
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.fold import folded
from needlework.results.style.palette import ColorsName
from needlework.results.style.text import fit
from needlework.results.tables.brief import brief_lines
from needlework.results.tables.run import first_miss

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
    colors: ColorsName = "safe",
    quiet: bool = False,
) -> Iterator[Line]:
    """At most `MOST` lines of at most `width` columns, `last` of which others need. `folder`: as the user types it.

    `skipped`: what else is to be said of this session's trials. `quiet`: without the grid and the notes.
    """
    found = in_short(report)
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


def _wrong(found: InShort, notes: Sequence[str], width: int) -> Iterator[Line]:
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


def _next(report: RunReport, found: InShort, folder: str, width: int, *, quiet: bool) -> Iterator[Line]:
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
    if found.surer is not None and found.surer.repeats:
        words = f"surer: the same command with --repeats {found.surer.repeats} ({found.surer.what})"
        yield from ((line, "") for line in folded(words, width))
    elif found.surer is not None:
        yield from ((line, "") for line in folded(f"surer: {fit(found.surer.what, 200)}", width))
