"""Reports of tests: records that they carry, letters, news."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from needlework.core.errors import InputError, printable
from needlework.pytest_plugin.asking.state import EXCHANGE, engine_of, forget_exchange, settings_of
from needlework.pytest_plugin.recording.progress import Carried, Shown, attach, carried_by, drop_record, output_of
from needlework.pytest_plugin.recording.recorder import GATE, gate_word
from needlework.pytest_plugin.recording.state import RECIPE, SHARED, TOLD, folder_of, stored_of
from needlework.pytest_plugin.scoring import SCORED
from needlework.pytest_plugin.workers.distribution import is_worker, worker_name
from needlework.pytest_plugin.workers.top_up import cell_of
from needlework.results.records.journal import stored_answers
from needlework.results.records.record import Record
from needlework.results.style import BLOCKS, can_encode, score_glyph


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the record to the call's report."""
    report = yield
    config = item.config
    if report.failed or report.sections:
        _crossing(report)
    exchange = config.stash.get(EXCHANGE, None)
    if exchange is None or call.when == "setup":
        return report
    if call.when == "teardown":
        forget_exchange(config)
        return report
    # Scorers are loaded with the first score: before the first answer is kept, others would wait for it.
    from needlework.results.run.record_builder import make_record
    from needlework.scoring.recording import Scored

    scored = config.stash.get(SCORED, None)
    if scored is None and cell_of(item) is None:
        return report  # what a plain test asks and does not score is its own business
    if scored is None:
        reason = "call assert_scored(exchange)" if report.passed else report.longreprtext.strip().splitlines()[-1]
        message = f"the test asked the model and scored nothing: {reason}"
        scored = Scored(None, error_kind="harness", message=message)
    record = make_record(exchange, scored, nodeid=item.nodeid, worker=worker_name(config), recipe=config.stash[RECIPE])
    item.user_properties += [("outcome", record["outcome"]), ("n_prompt_tokens", record["prompt"].get("tokens", 0))]
    if record["score"] is not None:
        item.user_properties.append(("score", f"{record['score']:.4f}"))
    fault = ""
    if settings_of(config).save_prompts and exchange.trial is not None:
        fault = _save_prompt(folder_of(config), exchange.key, exchange.trial.prompt.text)
    if record["outcome"] == "error" and report.passed:
        report.outcome = "failed"
        error = record["error"]
        report.longrepr = f"{error['kind']}: {printable(error['message'])}" if error else "error"
    if cell_of(item) in config.stash[SHARED] and not exchange.replayed:
        # The next test of this cell scores the same answer.
        told = stored_answers([record], [])
        stored_of(config).update({key: replace(answer, scored=False) for key, answer in told.items()})
    carried = Carried(record, shown_as(record, report), _new_facts(item, asked=not exchange.replayed), fault)
    attach(report, carried, as_text=is_worker(config) or not (exchange.replayed and scored.known))
    return report


def _crossing(report: pytest.TestReport) -> None:
    """Half surrogates in a failure would end the worker that sends it: they are told as what they are."""
    told = str(report.longrepr) if report.failed and report.longrepr else ""
    if any("\ud800" <= char <= "\udfff" for char in told):
        report.longrepr = told.encode("utf-8", "backslashreplace").decode()
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]


def _new_facts(item: pytest.Item, *, asked: bool) -> dict[str, Any]:
    """What this process can tell the manifest, once for each series of cells, and once more when its model is `asked`:
    before that, answers may all be from the journal, and nothing is known of the model."""
    cell = cell_of(item)
    told = item.config.stash[TOLD]
    if cell is None or (series := (cell.task, cell.needle, cell.model, asked)) in told:
        return {}
    told.add(series)
    with suppress(InputError):
        return engine_of(item.config).facts(cell)
    return {}


def _save_prompt(folder: Path, key: str, text: str) -> str:
    """Write it; returns what is wrong, if anything: only the controller can end the run."""
    path = folder / "prompts" / f"{key}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    except OSError as error:
        return str(
            InputError("--save-prompts", path, f"cannot be written ({error.strerror}); free space and run again")
        )
    return ""


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: Any) -> None:
    """Every other hook has seen the record by now; the terminal keeps reports until the end."""
    drop_record(report)


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


_OUTPUT = pytest.StashKey[int]()
_FIRST_WORKER = "gw0"  # all workers ask one server: once is enough


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if not is_worker(config) or worker_name(config) == _FIRST_WORKER:
        output = output_of(config, errors=is_worker(config))  # a worker's standard output is no terminal
        if output is not None:
            config.stash[_OUTPUT] = output


def pytest_needlework_news(config: pytest.Config, line: str) -> None:
    output = config.stash.get(_OUTPUT, None)
    if output is None:
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    column, live = 1, False
    if isinstance(reporter, pytest.TerminalReporter):
        column, live = reporter._tw.width_of_current_line, reporter.hasmarkup  # noqa: SLF001 - as in progress/live.py
    before = ("\x1b[K" if live else "") + ("\n" if column else "")  # the live line stands behind the cursor
    with suppress(OSError):
        os.write(output, f"{before}{line}\n".encode())


def pytest_unconfigure(config: pytest.Config) -> None:
    output = config.stash.get(_OUTPUT, None)
    if output is not None:
        del config.stash[_OUTPUT]
        os.close(output)
