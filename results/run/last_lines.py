"""What a run says at its end in the terminal: lines, each with the colour that it has there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.gates.gatekeeper import Gatekeeper
from needlework.results.gates.report import gate_lines
from needlework.results.gates.verdict import State, Verdict
from needlework.results.records.record import Record
from needlework.results.records.run_folder import MANIFEST
from needlework.results.run.finish import Finished
from needlework.results.run.latency import benchmark_asked
from needlework.results.run.open_folder import OpenFolder
from needlework.results.run.pace import Pace
from needlework.results.style.text import relative
from needlework.results.tables.latency import latency_lines
from needlework.results.tables.panels import statistics_lines
from needlework.results.tables.replayed import replayed_lines
from needlework.results.tables.run import next_line, run_lines
from needlework.results.tables.shared_tokens import shared_lines
from needlework.results.tables.terminal import can_encode
from needlework.results.tables.unscored import unscored_lines

Color = Literal["red", "yellow", "green", ""]
_STATES: Mapping[State, Color] = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


def report_lines(finished: Finished, reporter: pytest.TerminalReporter, settings: Settings) -> Iterator[str]:
    """The heatmaps, tables and notes of the run; with -vv its statistics too."""
    report = finished.report
    encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
    yield from run_lines(
        report,
        color=reporter.hasmarkup,
        encoding=encoding,
        width=reporter.config.get_terminal_writer().fullwidth,
        colors=settings.heatmap_colors,
    )
    if reporter.config.option.verbose > 1:
        yield from statistics_lines(report.statistics, report.twins)
    if benchmark_asked(reporter.config):
        yield from ("", *latency_lines(report.latency, report.sending, ascii_only=not can_encode(encoding)))


def session_lines(now: Sequence[Record], written_at: str, windows: Mapping[str, int]) -> Iterator[tuple[str, Color]]:
    """What became of this session's records: without a score, shared tokens, replayed. `windows`: model -> tokens."""
    for line in unscored_lines(now, windows):
        yield line, "red" if line.startswith("invalid") else "yellow" if line.startswith("skipped") else ""
    for line in (*shared_lines(now), *replayed_lines(now, written_at)):
        yield line, ""


def file_lines(finished: Finished, folder: Path) -> Iterator[str]:
    """The files that were written, and what to do next."""
    yield from map(relative, finished.files)
    yield next_line(finished.report, relative(folder))


def verdict_lines(
    verdicts: Sequence[Verdict],
    gatekeeper: Gatekeeper | None,
    folder: OpenFolder,
    pace: Pace | None,
    now: Sequence[Record],
) -> Iterator[tuple[str, Color]]:
    """The gates, what differs from their baseline, and records in the folder that belong to no file.

    `now`: the records of this session; what they took over from other options is no other record.
    """
    if gatekeeper is not None:
        for line, state in gate_lines(verdicts, gatekeeper.spent, pace.trial_s if pace else None) if verdicts else ():
            yield line, _STATES[state] if state else ""
        for line in gatekeeper.differences(folder.path / MANIFEST):
            yield line, ""
    if folder.warning:
        yield folder.warning, "yellow"
    taken = {record["key"] for record in now}
    others = sum(each["details"].get("recipe") != folder.recipe and each["key"] not in taken for each in folder.earlier)
    if others:
        line = f"{folder.path.name} also holds {others} records of a run with other options: they stay in the journal"
        yield f"{line} and out of these files; use another --run-name, or --fresh to drop them", "yellow"
