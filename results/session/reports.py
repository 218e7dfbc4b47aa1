"""Every cell's record, made in the process that ran it, and attached to pytest's report."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from needlework.haystack_fixtures.errors import InputError, printable
from needlework.haystack_fixtures.session.kept import EXCHANGE, engine_of, forget_exchange, settings_of
from needlework.haystack_fixtures.workers.distribution import is_worker, worker_name
from needlework.haystack_fixtures.workers.top_up_items import cell_of
from needlework.results.records.stored_answers import stored_answers
from needlework.results.run.carried import Carried, attach, drop_record
from needlework.results.session.kept import RECIPE, SHARED, TOLD, folder_of, stored_of
from needlework.results.session.letters import shown_as
from needlework.scoring.plugin import SCORED


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
    from needlework.results.run.making_records.make_record import make_record
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
