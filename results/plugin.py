"""The pytest side of recording: every cell's record, in the process that ran it."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from haystack_fixtures.distribution import is_worker, worker_name
from haystack_fixtures.errors import InputError
from haystack_fixtures.plugin import EXCHANGE, cell_of, engine_of, settings_of
from haystack_fixtures.settings import Settings
from results.controller import GATE, Recorder
from results.gates import parse_gate
from results.journal import read_journal
from results.recipe import recipe_of
from results.recorder import make_record, shown
from results.records import Record
from results.run_folder import JOURNAL, answered, run_folder
from results.terminal import score_glyph
from scoring.plugin import SCORE_ERROR_KEY, SCORE_KEY, SCORER_KEY
from scoring.recording import JUDGE
from scoring.registry import scorer_named

_RECORDER = "needlework-recorder"
_INPUT = "needlework_run_folder"
_STORED = pytest.StashKey[dict[str, Record]]()
_RECIPE = pytest.StashKey[str]()
_TOLD = pytest.StashKey[set[tuple[str, str, str]]]()
_LETTERS = {"censored": "c", "invalid": "!", "skipped": "s", "error": "E"}


def pytest_configure(config: pytest.Config) -> None:
    settings = settings_of(config)
    config.stash[_RECIPE] = recipe_of(settings)
    config.stash[_TOLD] = set()
    if is_worker(config):
        return
    try:
        gates = [parse_gate(text) for text in settings.gate]
        folder = run_folder(settings)
        _check_scorers(settings)
    except (InputError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(Recorder(config, settings, folder, gates), _RECORDER)


def _check_scorers(settings: Settings) -> None:
    for name in dict.fromkeys(suite.scorer for suite in settings.suites):
        if name.startswith(JUDGE):
            if settings.judge is None:
                raise InputError("--scorer", name, "needs a judge: give --judge SPEC")
        else:
            scorer_named(name)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    recorder = node.config.pluginmanager.get_plugin(_RECORDER)
    node.workerinput[_INPUT] = str(recorder.folder)


def pytest_cell_stored(config: pytest.Config, key: str) -> Mapping[str, Any] | None:
    if _STORED not in config.stash:
        config.stash[_STORED] = {} if settings_of(config).fresh else answered(read_journal(_folder(config) / JOURNAL))
    return cast("Mapping[str, Any] | None", config.stash[_STORED].get(key))


def _folder(config: pytest.Config) -> Path:
    if is_worker(config):
        return Path(cast("Any", config).workerinput[_INPUT])
    return cast("Recorder", config.pluginmanager.get_plugin(_RECORDER)).folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the record to the call's report, as a JSON string: that crosses to the controller whatever it holds."""
    report = yield
    exchange = item.stash.get(EXCHANGE, None)
    if call.when != "call" or exchange is None:
        return report
    scorer, version = item.stash.get(SCORER_KEY, ("", 0))
    error = item.stash.get(SCORE_ERROR_KEY, None)
    if SCORER_KEY not in item.stash:
        reason = "call assert_scored(exchange)" if report.passed else report.longreprtext.strip().splitlines()[-1]
        error = ("harness", f"the test asked the model and scored nothing: {reason}")
    record = make_record(
        exchange,
        item.stash.get(SCORE_KEY, None),
        nodeid=item.nodeid,
        worker=worker_name(item.config),
        recipe=item.config.stash[_RECIPE],
        scorer=scorer,
        scorer_version=version,
        error=error,
    )
    item.user_properties += [("outcome", record["outcome"]), ("n_prompt_tokens", record["prompt"].get("tokens", 0))]
    if record["score"] is not None:
        item.user_properties.append(("score", f"{record['score']:.4f}"))
    carried = cast("Any", report)
    carried.needlework_record = json.dumps(record, allow_nan=False)
    carried.needlework_facts = _new_facts(item)
    if settings_of(item.config).save_prompts and exchange.trial is not None:
        _save_prompt(_folder(item.config), exchange.key, exchange.trial.prompt.text)
    if record["outcome"] == "error" and report.passed:
        report.outcome = "failed"
        report.longrepr = f"{record['error']['kind']}: {record['error']['message']}" if record["error"] else "error"
    return report


def _new_facts(item: pytest.Item) -> str | None:
    """What this process can tell the manifest, once for each series of cells."""
    cell = cell_of(item)
    told = item.config.stash[_TOLD]
    if cell is None or (cell.task, cell.needle, cell.model) in told:
        return None
    told.add((cell.task, cell.needle, cell.model))
    with suppress(InputError):
        return json.dumps(engine_of(item.config).facts(cell), default=str)
    return None


def _save_prompt(folder: Path, key: str, text: str) -> None:
    path = folder / "prompts" / f"{key}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")


def pytest_report_teststatus(report: Any) -> tuple[str, str, Any] | None:
    if report.nodeid.startswith(GATE):
        return report.outcome, "", ""  # counted, and told in the summary; no part of the cells' progress
    text = getattr(report, "needlework_record", None)
    if text is None or report.when != "call":
        return None
    record: Record = json.loads(text)
    outcome = record["outcome"]
    colour = {"red": True} if outcome == "error" else {"yellow": True} if record["score"] is None else {"green": True}
    category = outcome if record["score"] is None else "scored"
    letter = _LETTERS[outcome] if record["score"] is None else score_glyph(record["score"])
    return category, letter, (shown(record).upper() if outcome == "error" else shown(record), colour)
