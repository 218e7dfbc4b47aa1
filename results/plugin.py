"""The pytest side of recording: every cell's record, in the process that ran it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from needlework.haystack_fixtures.errors import InputError, printable
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle_sets import EACH
from needlework.haystack_fixtures.session.kept import EXCHANGE, engine_of, forget_exchange, settings_of
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.trials.exchange import Exchange, StoredAnswer
from needlework.haystack_fixtures.workers.distribution import is_worker, refuse, worker_name
from needlework.haystack_fixtures.workers.top_up_items import cell_of
from needlework.results import hookspecs
from needlework.results.gates.gate import parse_gate
from needlework.results.gates.gatekeeper import check_gates
from needlework.results.gates.power_plan import check_power, parse_power, power_lines
from needlework.results.gates.report import GATE, gate_word
from needlework.results.records.journal import WaitingAnswers, read_journal, read_waiting
from needlework.results.records.recipe import recipe_of
from needlework.results.records.record import Record
from needlework.results.records.run_folder import JOURNAL, run_folder
from needlework.results.records.stored_answers import stored_answers
from needlework.results.run.carried import Carried, Shown, attach, carried_by, drop_record
from needlework.results.run.make_record import make_record, shown, waiting_answer
from needlework.results.run.progress import progress_of
from needlework.results.run.recorder import Recorder
from needlework.results.run.scorer_names import check_scorer
from needlework.results.run.shared_cells import shared_cells
from needlework.results.run.signals import EndSignals
from needlework.results.statistics.effective_base import RELATIVE_TO, parse_relative_to
from needlework.results.tables.terminal import BLOCKS, can_encode, score_glyph
from needlework.scoring.plugin import SCORED
from needlework.scoring.recording import JUDGE, Scored

_RECORDER = "needlework-recorder"
_INPUT = "needlework_run_folder"
_STORED = pytest.StashKey[dict[str, StoredAnswer]]()
_WAITING = pytest.StashKey[WaitingAnswers | None]()
_RECIPE = pytest.StashKey[str]()
_SHARED = pytest.StashKey[frozenset[Cell]]()
"""The cells that several tests ask."""
_TOLD = pytest.StashKey[set[tuple[str, str, str]]]()
_LETTERS = {"censored": "c", "unclear": "?", "invalid": "!", "skipped": "s", "error": "E"}


def pytest_configure(config: pytest.Config) -> None:
    settings = settings_of(config)
    config.stash[_RECIPE] = recipe_of(settings)
    config.stash[_TOLD] = set()
    config.stash[_SHARED] = frozenset()
    config.stash[_WAITING] = None
    if is_worker(config):
        return
    try:
        gates = [parse_gate(text) for text in settings.gate]
        check_gates(settings, gates)
        check_power(settings)
        _check_base(settings)
        folder = run_folder(settings)
        _check_scorers(settings)
    except (InputError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(Recorder(config, settings, folder, gates), _RECORDER)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_collection_finish(session: pytest.Session) -> None:
    """A worker that has cells leaves the end of the run to its controller, which a signal to both would race."""
    config, tests = session.config, [(item.nodeid, cell) for item in session.items if (cell := cell_of(item))]
    try:
        config.stash[_SHARED] = shared_cells(tests)
    except InputError as error:
        refuse(session, error)
    if is_worker(config) and tests:
        EndSignals().start(ignore=True)


def pytest_sessionstart(session: pytest.Session) -> None:
    progress = None if is_worker(session.config) else progress_of(session.config)
    if progress is not None:
        session.config.pluginmanager.register(progress, "needlework-progress")


def _check_base(settings: Settings) -> None:
    base = parse_relative_to(settings.relative_to)
    asked = {length for suite in settings.suites for length in suite.lengths}
    if base is not None and base.lengths and not asked & set(base.lengths):
        raise InputError(RELATIVE_TO, settings.relative_to, "names no length of this run; --lengths says which it has")


def _check_scorers(settings: Settings) -> None:
    for name in dict.fromkeys(suite.scorer for suite in settings.suites if suite.scorer is not None):
        if name.startswith(JUDGE) and settings.judge is None:
            raise InputError("--scorer", name, "needs a judge: give --judge SPEC")
        check_scorer(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    done = yield
    settings, reporter = settings_of(session.config), session.config.pluginmanager.get_plugin("terminalreporter")
    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    if settings.plan and settings.power and cells and isinstance(reporter, pytest.TerminalReporter):
        own = {suite.task for suite in settings.suites if suite.needle_set == EACH}
        for line in power_lines(parse_power(settings.power), cells, own):
            reporter.write_line(line)
    return done


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    recorder = node.config.pluginmanager.get_plugin(_RECORDER)
    node.workerinput[_INPUT] = str(recorder.folder)


def pytest_cell_stored(config: pytest.Config, key: str) -> StoredAnswer | None:
    return _stored(config).get(key)


def _stored(config: pytest.Config) -> dict[str, StoredAnswer]:
    """The answers that need not be asked for, by key."""
    if _STORED not in config.stash:
        folder, fresh = _folder(config), settings_of(config).fresh
        earlier = read_journal(folder / JOURNAL) if is_worker(config) else _recorder(config).earlier
        config.stash[_STORED] = {} if fresh else stored_answers(earlier, read_waiting(folder))
    return config.stash[_STORED]


def pytest_cell_answered(config: pytest.Config, exchange: Exchange) -> None:
    answer = waiting_answer(exchange, worker_name(config))
    if answer is None:
        return
    if config.stash[_WAITING] is None:
        config.stash[_WAITING] = WaitingAnswers(_folder(config))
    cast("WaitingAnswers", config.stash[_WAITING]).append(answer)


def pytest_unconfigure(config: pytest.Config) -> None:
    waiting = config.stash.get(_WAITING, None)
    if waiting is not None:
        waiting.close()


def _folder(config: pytest.Config) -> Path:
    if is_worker(config):
        return Path(cast("Any", config).workerinput[_INPUT])
    return _recorder(config).folder


def _recorder(config: pytest.Config) -> Recorder:
    return cast("Recorder", config.pluginmanager.get_plugin(_RECORDER))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the record to the call's report, as JSON: that crosses to the controller whatever it holds."""
    report = yield
    config = item.config
    exchange = config.stash.get(EXCHANGE, None)
    if exchange is None or call.when == "setup":
        return report
    if call.when == "teardown":
        forget_exchange(config)
        return report
    scored = config.stash.get(SCORED, None)
    if scored is None and cell_of(item) is None:
        return report  # what a plain test asks and does not score is its own business
    if scored is None:
        reason = "call assert_scored(exchange)" if report.passed else report.longreprtext.strip().splitlines()[-1]
        message = f"the test asked the model and scored nothing: {reason}"
        scored = Scored(None, error_kind="harness", message=message)
    record = make_record(exchange, scored, nodeid=item.nodeid, worker=worker_name(config), recipe=config.stash[_RECIPE])
    item.user_properties += [("outcome", record["outcome"]), ("n_prompt_tokens", record["prompt"].get("tokens", 0))]
    if record["score"] is not None:
        item.user_properties.append(("score", f"{record['score']:.4f}"))
    fault = ""
    if settings_of(config).save_prompts and exchange.trial is not None:
        fault = _save_prompt(_folder(config), exchange.key, exchange.trial.prompt.text)
    if record["outcome"] == "error" and report.passed:
        report.outcome = "failed"
        error = record["error"]
        report.longrepr = f"{error['kind']}: {printable(error['message'])}" if error else "error"
    if cell_of(item) in config.stash[_SHARED] and not exchange.replayed:
        # The next test of this cell scores the same answer.
        told = stored_answers([record], [])
        _stored(config).update({key: replace(answer, scored=False) for key, answer in told.items()})
    attach(report, Carried(record, _shown(record, report), _new_facts(item), fault))
    return report


def _new_facts(item: pytest.Item) -> dict[str, Any]:
    """What this process can tell the manifest, once for each series of cells."""
    cell = cell_of(item)
    told = item.config.stash[_TOLD]
    if cell is None or (cell.task, cell.needle, cell.model) in told:
        return {}
    told.add((cell.task, cell.needle, cell.model))
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


def _shown(record: Record, report: pytest.TestReport) -> Shown:
    """How the terminal shows a record; a failure of the test's own as pytest shows any."""
    outcome, score = record["outcome"], record["score"]
    if outcome == "error":
        return outcome, _LETTERS[outcome], shown(record).upper(), "red"
    if report.failed:
        return "failed", "F", "FAILED", "red"
    if score is not None:
        return "scored", score_glyph(score), shown(record), "green"
    return outcome, _LETTERS[outcome], shown(record), "yellow"


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: Any) -> None:
    """Every other hook has seen the record by now; the terminal keeps reports until the end."""
    drop_record(report)
