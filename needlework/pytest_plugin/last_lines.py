"""The last lines of a run in the terminal, each with its colour.

Without `-v` it is short: the sentence, the grid, what is wrong, the gates, where the report is. `-v` has every table.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import pytest
from msgspec import Struct

from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.pytest_plugin.latency import benchmark_asked
from needlework.results.gates.decide import gate_lines
from needlework.results.gates.gate import State, Verdict
from needlework.results.gates.gatekeeper import Gatekeeper
from needlework.results.records.samples import windows_of
from needlework.results.report.section import section_lines
from needlework.results.report.suites import latency_sections
from needlework.results.report.tasks import panel_sections, twins_sections
from needlework.results.run.finish import Finished
from needlework.results.run.open_folder import OpenFolder
from needlework.results.run.session import kept_lines, left_lines, replayed_lines
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.statistics.tasks import selection_words
from needlework.results.style import encodable, folded, relative
from needlework.results.tables.terminal import (
    Screen,
    cost_lines,
    ending,
    next_line,
    run_lines,
    shared_lines,
    unscored_lines,
)

Color = Literal["red", "yellow", "green", ""]
Line = tuple[str, Color]
_STATES: Mapping[State, Color] = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


class Terminal(Screen, frozen=True, kw_only=True):
    """The terminal, or the file that stands for it."""

    encoding: str
    verbose: int  # as pytest counts it
    timed: bool  # whether latencies were asked for

    def shown(self, lines: Iterable[Line]) -> Iterator[Line]:
        """The lines, folded at its width, in its encoding; grids with escapes are narrow enough."""
        for text, color in lines:
            indent = " " * (len(text) - len(text.lstrip()) + 2)
            parts = [text] if "\x1b" in text else folded(text, self.width, indent)
            yield from ((encodable(part, self.encoding), color) for part in parts)


def screen_of(reporter: pytest.TerminalReporter, settings: Settings) -> Terminal:
    """The screen that a reporter writes to."""
    return Terminal(
        width=reporter.config.get_terminal_writer().fullwidth,
        encoding=getattr(sys.__stdout__, "encoding", None) or "utf-8",
        color=reporter.hasmarkup,
        colors=settings.heatmap_colors,
        verbose=reporter.config.option.verbose,
        timed=benchmark_asked(reporter.config),
    )


class SessionEnd(Struct, frozen=True):
    """A session that has ended, with its files if they could be written."""

    finished: Finished | None
    now: list[Record]  # of this session
    folder: OpenFolder
    verdicts: Sequence[Verdict]
    gatekeeper: Gatekeeper | None
    faults: Sequence[str]  # in a line each


def end_lines(end: SessionEnd, screen: Terminal) -> Iterator[Line]:
    """The run, in short or with `-v` in full; then latencies if they were asked for, gates and faults."""
    report = end.finished.report if end.finished is not None else None
    timed = section_lines(latency_sections(report.latency, report.sending)) if report and screen.timed else []
    latencies: list[Line] = [("", ""), *((line, "") for line in timed)] if timed else []
    below = list(screen.shown((*latencies, *_verdict_lines(end), *((fault, "red") for fault in end.faults))))
    if end.finished is not None:
        lines = _short_lines if screen.verbose < 1 else _long_lines
        yield from screen.shown(lines(end, end.finished, len(below), screen))
    yield from below


def _long_lines(end: SessionEnd, finished: Finished, _last: int, screen: Terminal) -> Iterator[Line]:
    """The sentence, the faults, the heatmaps, tables and notes of the run; with -vv its statistics too.

    Then what became of this session's records, and the files.
    """
    report = finished.report
    headline = headline_of(report)
    yield headline.sentence, ""
    yield from ((fault.text, "red") for fault in headline.faults)
    yield "", ""
    lines = run_lines(report, screen)
    if screen.verbose > 1:
        lines += section_lines([*panel_sections(report.statistics), *twins_sections(report.twins)])
    yield from ((line, "") for line in lines)
    for line in unscored_lines(end.now, windows_of(end.folder.facts)):
        yield line, "red" if line.startswith("invalid") else "yellow" if line.startswith("skipped") else ""
    folder = relative(end.folder.path)
    ended = (*shared_lines(end.now), *_folder_lines(end, report), f"results: {folder}")
    yield from ((line, "") for line in (*ended, *map(relative, finished.files), next_line(report, folder)))


def _short_lines(end: SessionEnd, finished: Finished, last: int, screen: Terminal) -> Iterator[Line]:
    """The run in short; `last`: lines that will stand below it."""
    unscored = unscored_lines(end.now, windows_of(end.folder.facts))
    skipped = [*(line for line in unscored if line.startswith("skipped")), *_folder_lines(end, finished.report)]
    folder, quiet = relative(end.folder.path), screen.verbose < 0
    return ending(finished.report, screen, skipped=skipped, folder=folder, last=last, quiet=quiet)


def _folder_lines(end: SessionEnd, report: RunReport) -> Iterator[str]:
    """Lines on answers of earlier sessions, and on those left for the next."""
    replayed = end.folder.replayed(end.now)
    yield from replayed_lines(replayed, len(end.now), end.folder.written_at, len(report.records))
    yield from cost_lines(report)
    if report.interrupted:
        yield from kept_lines(end.folder.waiting(report.records))


def _verdict_lines(end: SessionEnd) -> Iterator[Line]:
    """The gates, what differs from their baseline, and records in the folder that belong to no file."""
    folder, report = end.folder, end.finished.report if end.finished is not None else None
    if end.gatekeeper is not None:
        pace = folder.pace(end.now)
        selection = selection_words(report.gates, len(report.records)) if report is not None else ""
        for line, state in gate_lines(end.verdicts, end.gatekeeper.spent, pace.trial_s if pace else None, selection):
            yield line, _STATES[state] if state else ""
        for line in end.gatekeeper.differences(folder.written_manifest):
            yield line, ""
    if folder.warning:
        yield folder.warning, "yellow"
    records = report.records if report is not None else folder.whole(end.now)
    yield from ((line, "yellow") for line in left_lines(folder.path.name, folder.earlier, records, folder.recipe))
