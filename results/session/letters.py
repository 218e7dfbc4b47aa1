"""How the terminal shows each record: its letter or shade, its word, its colour."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from typing import Any

import pytest

from needlework.haystack_fixtures.workers.distribution import is_worker
from needlework.results.gates.cases import GATE, gate_word
from needlework.results.records.record import Record
from needlework.results.run.carried import Shown, carried_by
from needlework.results.style.glyphs import BLOCKS, can_encode, score_glyph

_LETTERS = {"censored": "c", "unclear": "?", "invalid": "!", "skipped": "s", "error": "E"}
_NUMBERS = re.compile(r"\d+")
_MOST_ERRORS = 3  # reasons that pytest tells at the end without -v


def pytest_report_teststatus(report: Any, config: pytest.Config) -> tuple[str, str, Any] | None:
    if report.nodeid.startswith(GATE):
        # Counted, and told in the summary; no part of the cells' progress.
        category = "" if report.when != "call" else "inconclusive" if report.skipped else report.outcome
        return category, "", gate_word(report)
    carried = None if is_worker(config) else carried_by(report)
    if carried is None or report.when != "call":
        return None
    category, letter, word, colour = carried.shown
    if letter in BLOCKS and not can_encode(getattr(sys.__stdout__, "encoding", None) or "utf-8"):
        letter = str(BLOCKS.index(letter))
    return category, letter, (word, {colour: True})


def shown_as(record: Record, report: pytest.TestReport) -> Shown:
    """How the terminal shows a record; a failure of the test's own as pytest shows any."""
    outcome, score = record["outcome"], record["score"]
    if outcome == "error":
        return outcome, _LETTERS[outcome], _words(record).upper(), "red"
    if report.failed:
        return "failed", "F", "FAILED", "red"
    if score is not None:
        return "scored", score_glyph(score), _words(record), "green"
    return outcome, _LETTERS[outcome], _words(record), "yellow"


def _words(record: Record) -> str:
    """A record in a few words: `found 100 %`, `error timeout`."""
    if record["score"] is not None:
        return f"{record['outcome']} {record['score']:.0%}"
    error = record["error"]
    return f"{record['outcome']} {error['kind']}" if error else record["outcome"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Cells that failed alike are told once by pytest, unless `-v` asks for each: the end of the run counts them."""
    stats = terminalreporter.stats
    errors = stats.get("error", [])
    if errors and terminalreporter.config.option.verbose < 1:
        first: dict[str, Any] = {}
        for report in errors:
            of_cell = getattr(report, "when", "") == "call"
            first.setdefault(_NUMBERS.sub("0", str(report.longrepr)) if of_cell else report.nodeid, report)
        stats["error"] = list(first.values())[:_MOST_ERRORS]
    yield
    if errors:
        stats["error"] = errors
