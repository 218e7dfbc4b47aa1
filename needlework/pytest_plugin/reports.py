"""Reports of tests carry their cells' records from the asking process to the writing one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest

from needlework.core.errors import InputError, printable
from needlework.core.record import Record, decode_record, encode_record
from needlework.pytest_plugin.run_state import run_state
from needlework.pytest_plugin.workers import cell_of, is_worker, worker_name
from needlework.results.records.journal import stored_answers
from needlework.results.style import BLOCKS, can_encode, score_glyph

if TYPE_CHECKING:
    from needlework.results.gates.gate import State, Verdict


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the record to the call's report."""
    report = yield
    config, state = item.config, run_state(item.config)
    # Half surrogates in a failure would end the worker that sends it.
    text = str(report.longrepr) if report.failed and report.longrepr else ""
    if any("\ud800" <= char <= "\udfff" for char in text):
        report.longrepr = text.encode("utf-8", "backslashreplace").decode()
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    exchange, scored = state.exchange, state.scored
    if call.when == "teardown":
        state.exchange = None
    if exchange is None or call.when != "call":
        return report
    # Scorers are loaded with the first score: before the first answer is kept, others would wait for it.
    from needlework.results.run.record_builder import make_record
    from needlework.scoring.recording import ScoringResult

    if scored is None:
        if cell_of(item) is None:
            return report  # a plain test need not score what it asks
        reason = "call assert_scored(exchange)" if report.passed else report.longreprtext.strip().splitlines()[-1]
        message = f"the test asked the model and scored nothing: {reason}"
        scored = ScoringResult(None, error_kind="harness", message=message)
    record = make_record(exchange, scored, nodeid=item.nodeid, worker=worker_name(config), recipe=state.recipe)
    item.user_properties += [("outcome", record.outcome), ("n_prompt_tokens", record.prompt.tokens)]
    if record.score is not None:
        item.user_properties.append(("score", f"{record.score:.4f}"))
    fault = ""
    if state.settings.save_prompts and exchange.trial is not None:
        fault = _save_prompt(state.folder, exchange.key, exchange.trial.prompt.text)
    if record.outcome == "error" and report.passed:
        report.outcome = "failed"
        error = record.error
        report.longrepr = f"{error.kind}: {printable(error.message)}" if error else "error"
    if cell_of(item) in state.shared_cells and not exchange.replayed:
        # The next test of this cell scores the same answer.
        stored = stored_answers([record], [])
        state.stored_answers.update({key: answer._replace(replayed=False) for key, answer in stored.items()})
    facts = json.dumps(_new_facts(item, is_asked=not exchange.replayed), default=str)
    # As text: reports of workers are sent, and the record of a user's own test may hold what JSON changes.
    cast("Any", report).needlework = (encode_record(record).decode(), shown_as(record, report), facts, fault)
    return report


def _new_facts(item: pytest.Item, *, is_asked: bool) -> dict[str, Any]:
    """Facts for the manifest, once for each series of cells and once more when its model was asked.
    Before that, answers may all be from the journal, and nothing is known of the model."""
    cell, state = cell_of(item), run_state(item.config)
    if cell is None or (series := (cell.task, cell.needle, cell.model, is_asked)) in state.reported_series:
        return {}
    state.reported_series.add(series)
    with suppress(InputError):
        return state.engine.facts(cell)
    return {}


def _save_prompt(folder: Path, key: str, text: str) -> str:
    """Write it; returns what is wrong, if anything: only the controller can end the run."""
    path = folder / "prompts" / f"{key}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    except OSError as error:
        why = f"cannot be written ({error.strerror}); free space and run again"
        return str(InputError("--save-prompts", path, why))
    return ""


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: Any) -> None:
    """Drop what other hooks have used by now: the terminal keeps reports until the end."""
    payload = getattr(report, "needlework", None)
    if payload is not None:
        report.needlework = replace(payload, record=None) if isinstance(payload, Payload) else None


_LETTERS = {"censored": "c", "unclear": "?", "invalid": "!", "skipped": "s", "error": "E"}
_NUMBERS = re.compile(r"\d+")
_MOST_ERRORS = 3  # reasons that pytest tells at the end without -v


def pytest_report_teststatus(report: Any, config: pytest.Config) -> tuple[str, str, Any] | None:
    if report.nodeid.startswith(GATE):
        # Counted, and told in the summary; no part of the cells' progress.
        category = "" if report.when != "call" else "inconclusive" if report.skipped else report.outcome
        # The word before a gate in pytest's short summary; none while cells are shown one by one.
        in_summary = report.when == "call" and getattr(report, "in_summary", False)
        return category, "", report.outcome.upper() if in_summary else ""
    payload = None if is_worker(config) else payload_of(report)
    if payload is None or report.when != "call":
        return None
    category, letter, word, colour = payload.shown
    if letter in BLOCKS and not can_encode(getattr(sys.__stdout__, "encoding", None) or "utf-8"):
        letter = str(BLOCKS.index(letter))
    return category, letter, (word, {colour: True})


def shown_as(record: Record, report: pytest.TestReport) -> Shown:
    """The display of a record in the terminal; a test's own failure looks as pytest's do."""
    outcome, score, error = record.outcome, record.score, record.error
    if outcome == "error":
        return outcome, _LETTERS[outcome], f"ERROR {error.kind}".upper() if error else "ERROR", "red"
    if report.failed:
        return "failed", "F", "FAILED", "red"
    if score is not None:
        return "scored", score_glyph(score), f"{outcome} {score:.0%}", "green"
    return outcome, _LETTERS[outcome], outcome, "yellow"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Report cells that failed alike once, unless `-v`: the end of the run counts them."""
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


Shown = tuple[str, str, str, str]  # a test in the terminal: category, letter, words, colour


@dataclass(frozen=True, slots=True)
class Payload:
    """The record of a cell, from the process that asked to the one that writes."""

    record: Record | None  # `None` once every hook has seen it
    shown: Shown
    facts: Mapping[str, Any]  # for the manifest, once for each series of cells
    fault: str = ""  # why the run has to end


def payload_of(report: object) -> Payload | None:
    """The payload of a report; `None` if it is of no cell. Once read, the report cannot be sent."""
    payload = getattr(report, "needlework", None)
    if isinstance(payload, tuple):
        line, shown, facts, fault = payload
        payload = Payload(decode_record(line.encode()), shown, json.loads(facts), fault)
        cast("Any", report).needlework = payload
    return payload if isinstance(payload, Payload) else None


GATE = "gate::"
_OUTCOMES: Mapping[State, Literal["passed", "failed", "skipped"]]
_OUTCOMES = {"pass": "passed", "fail": "failed", "inconclusive": "skipped"}


def gate_case(verdict: Verdict) -> tuple[pytest.TestReport, pytest.TestReport]:
    """A gate as a test, its call and its end: in the counts, the short summary, and in JUnit XML.

    JUnit knows no third verdict. An inconclusive gate is a skipped case, as nothing was found wrong; the property
    `verdict` says it in words.
    """
    from needlework.results.gates.decide import WORD, value_words, verdict_words

    # Brackets would be read as a test's parameters.
    name = f"{verdict.gate} ({verdict.group})".replace("[", "(").replace("]", ")")
    words = f"{WORD[verdict.state]} {verdict.gate}: {verdict_words(verdict)}"
    ends = "" if verdict.low is None or verdict.high is None else f" ({verdict.low:.3f}..{verdict.high:.3f})"
    lost = f", {verdict.losses.lost} lost" if verdict.losses else ""
    facts = {
        "verdict": verdict.state, "value": verdict.value, "low": verdict.low, "high": verdict.high,
        "level": f"{verdict.level:g}", "n": verdict.n, "samples": verdict.samples or None,
        "more_samples": verdict.more, "more_trials": verdict.more_trials,
        "lost": verdict.losses.lost if verdict.losses else None,
    }  # fmt: skip
    nodeid, location = f"{GATE}{name}", ("gate", 0, name)
    # pytest's short summary has the first line, as far as it fits: `0.778 (0.444..1.000), n 27, 3 lost`.
    brief = f"{value_words(verdict)}{ends}, n {verdict.n}{lost}"
    longrepr = {"pass": None, "fail": f"{brief}\n{words}", "inconclusive": ("gate", 0, words)}[verdict.state]
    properties = [(name, fact) for name, fact in facts.items() if fact is not None]
    return (
        pytest.TestReport(nodeid, location, {}, _OUTCOMES[verdict.state], longrepr, "call"),
        pytest.TestReport(nodeid, location, {}, "passed", None, "teardown", user_properties=properties),
    )
