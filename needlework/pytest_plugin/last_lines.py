"""The last lines of a run in the terminal, each with its colour.

Without `-v` it is short: the sentence, the grid, what is wrong, the gates, where the report is. `-v` has every table.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import pytest

from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.pytest_plugin.latency import benchmark_asked
from needlework.results.gates.decide import gate_lines
from needlework.results.gates.gate import State, Verdict
from needlework.results.gates.gatekeeper import Gatekeeper
from needlework.results.report.section import section_lines
from needlework.results.report.suites import latency_sections
from needlework.results.report.tasks import panel_sections, twins_sections
from needlework.results.run.finish import Finished
from needlework.results.run.open_folder import OpenFolder
from needlework.results.run.session import SessionPace, kept_lines, left_lines, replayed_lines
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

    def shown(self, lines: Iterator[Line]) -> Iterator[Line]:
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


def long_lines(
    finished: Finished, now: Sequence[Record], folder: OpenFolder, windows: Mapping[str, int], screen: Terminal
) -> Iterator[Line]:
    """The sentence, the faults, the heatmaps, tables and notes of the run; with -vv its statistics too.

    Then what became of this session's records (`now`), and the files. `windows`: model -> tokens.
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
    for line in unscored_lines(now, windows):
        yield line, "red" if line.startswith("invalid") else "yellow" if line.startswith("skipped") else ""
    ended = (*shared_lines(now), *_folder_lines(finished, now, folder), f"results: {relative(folder.path)}")
    files = map(relative, finished.files)
    yield from ((line, "") for line in (*ended, *files, next_line(report, relative(folder.path))))


def short_lines(
    finished: Finished,
    now: Sequence[Record],
    folder: OpenFolder,
    windows: Mapping[str, int],
    last: int,
    screen: Terminal,
) -> Iterator[Line]:
    """The run in short; `last`: lines that will stand below it. `now`, `windows`: as for `long_lines`."""
    skipped = [line for line in unscored_lines(now, windows) if line.startswith("skipped")]
    yield from ending(
        finished.report,
        screen,
        skipped=[*skipped, *_folder_lines(finished, now, folder)],
        folder=relative(folder.path),
        last=last,
        quiet=screen.verbose < 0,
    )


def latency_lines(finished: Finished | None, screen: Terminal) -> list[Line]:
    """The table of latencies, where an option of pytest-benchmark asked for it."""
    if finished is None or not screen.timed:
        return []
    report = finished.report
    lines = section_lines(latency_sections(report.latency, report.sending))
    return [(line, "") for line in ("", *lines)]


def _folder_lines(finished: Finished, now: Sequence[Record], folder: OpenFolder) -> Iterator[str]:
    """Lines on answers of earlier sessions, and on those left for the next."""
    records = finished.report.records
    yield from replayed_lines(folder.replayed(now), len(now), folder.written_at, len(records))
    yield from cost_lines(finished.report)
    if finished.report.interrupted:
        yield from kept_lines(folder.waiting(records))


def verdict_lines(
    verdicts: Sequence[Verdict],
    gatekeeper: Gatekeeper | None,
    finished: Finished | None,
    folder: OpenFolder,
    pace: SessionPace | None,
    now: Sequence[Record],
) -> Iterator[Line]:
    """The gates, what differs from their baseline, and records in the folder that belong to no file.

    `now`: the records of this session.
    """
    if gatekeeper is not None:
        report = finished.report if finished is not None else None
        selection = selection_words(report.gates, len(report.records)) if report is not None else ""
        for line, state in gate_lines(verdicts, gatekeeper.spent, pace.trial_s if pace else None, selection):
            yield line, _STATES[state] if state else ""
        for line in gatekeeper.differences(folder.written_manifest):
            yield line, ""
    if folder.warning:
        yield folder.warning, "yellow"
    records = finished.report.records if finished is not None else folder.whole([*now])
    yield from ((line, "yellow") for line in left_lines(folder.path.name, folder.earlier, records, folder.recipe))
