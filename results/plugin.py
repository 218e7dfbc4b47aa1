"""The pytest side of recording: every cell's record, the files at the end, the gates, the exit code."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from _pytest.terminal import TerminalReporter

from haystack_fixtures.cells import depth_label, parse_id
from haystack_fixtures.distribution import has_workers, is_worker, worker_name
from haystack_fixtures.errors import InputError
from haystack_fixtures.plugin import EXCHANGE, asks_cells, cell_of, engine_of, settings_of
from haystack_fixtures.settings import Settings
from haystack_fixtures.tasks.load import Series, grid
from results.gates import Gate, Verdict, judge_gate, parse_gate
from results.journal import Journal, read_journal
from results.latency import publish_latencies
from results.manifest import command_line, manifest, merge_facts, write_manifest
from results.recipe import recipe_of
from results.recorder import lost_record, make_record, shown
from results.records import Record
from results.run_folder import JOURNAL, answered, run_folder, whole_run
from results.terminal import score_glyph
from results.writers import Written, write_files
from scoring.plugin import SCORE_ERROR_KEY, SCORE_KEY, SCORER_KEY
from scoring.recording import JUDGE
from scoring.registry import scorer_named

_RECORDER = "needlework-recorder"
_INPUT = "needlework_run_folder"
_STORED = pytest.StashKey[dict[str, Record]]()
_RECIPE = pytest.StashKey[str]()
_TOLD = pytest.StashKey[set[tuple[str, str, str]]]()
_LETTERS = {"censored": "c", "invalid": "!", "skipped": "s", "error": "E"}

GATE_FAILED, VOID = 1, 11


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
    text = getattr(report, "needlework_record", None)
    if text is None or report.when != "call":
        return None
    record: Record = json.loads(text)
    outcome = record["outcome"]
    colour = {"red": True} if outcome == "error" else {"yellow": True} if record["score"] is None else {"green": True}
    category = outcome if record["score"] is None else "scored"
    letter = _LETTERS[outcome] if record["score"] is None else score_glyph(record["score"])
    return category, letter, (shown(record).upper() if outcome == "error" else shown(record), colour)


class Recorder:
    """The controller's side: it alone writes. Inert until a record comes."""

    def __init__(self, config: pytest.Config, settings: Settings, folder: Path, gates: list[Gate]) -> None:
        self._config = config
        self._settings = settings
        self._gates = gates
        self._recipe = recipe_of(settings)
        self._records: list[Record] = []
        self._earlier: list[Record] = []
        self._facts: dict[str, Any] = {}
        self._journal: Journal | None = None
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._written: Written | None = None
        self._verdicts: list[Verdict] = []
        self._fault = ""
        self.folder = folder

    def pytest_report_header(self) -> str | None:
        if not asks_cells(self._config):
            return None
        models = ", ".join(dict.fromkeys(self._settings.model))
        return f"needlework: preset {self._settings.preset}, model {models}, results in {_relative(self.folder)}"

    def pytest_sessionstart(self) -> None:
        """Under workers: a folder that cannot take the results is found before they start."""
        if has_workers(self._config) and not self._config.option.collectonly and asks_cells(self._config):
            self._open_or_refuse()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self._journal is not None or session.config.option.collectonly or self._settings.plan:
            return
        if any(cell_of(item) is not None for item in session.items):
            self._open_or_refuse()

    def _open_or_refuse(self) -> None:
        try:
            self._open()
        except InputError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        text = getattr(report, "needlework_record", None)
        if text is not None and report.when == "call":
            facts = getattr(report, "needlework_facts", None)
            merge_facts(self._facts, json.loads(facts) if facts else {})
            self._keep(json.loads(text))
        elif report.failed and report.when != "teardown":
            cell = parse_id(report.nodeid)
            if cell is not None:
                # A worker that died tells nothing but the test's name; so does a fixture that failed.
                series = self._series(cell.task, cell.needle, cell.model)
                message = str(report.longrepr).strip().splitlines()[-1:] or ["the process died"]
                self._keep(
                    lost_record(
                        cell,
                        model=series.model if series else cell.model,
                        nodeid=report.nodeid,
                        recipe=self._recipe,
                        message=message[0][:300],
                        language=series.suite.language if series else "",
                        seed=self._settings.seed,
                    )
                )

    def _series(self, task: str, needle: str, model: str) -> Series | None:
        for series in grid(self._settings):
            first = series.cells[0]
            if (first.task, first.needle, first.model) == (task, needle, model):
                return series
        return None

    def _keep(self, record: Record) -> None:
        self._records.append(record)
        if self._fault or record["timing"].get("replayed"):
            return
        try:
            if self._journal is None:
                self._open()
            cast(Journal, self._journal).append(record)
        except InputError as error:
            self._fault = str(error)

    def _open(self) -> None:
        path = self.folder / JOURNAL
        self._journal = Journal(path, fresh=self._settings.fresh)
        if self._settings.fresh:
            for pattern in ("heatmap-*", "results.*", "report.html"):
                for old in self.folder.glob(pattern):
                    old.unlink()
        self._earlier = read_journal(path)
        with suppress(OSError):
            (self._settings.results_dir / ".gitignore").write_text("*\n")
        self._write_manifest(None)

    def _write_manifest(self, ended: str | None) -> None:
        write_manifest(
            self.folder / "manifest.json",
            manifest(
                self._settings,
                argv=command_line(),
                root=self._config.rootpath,
                facts=self._facts,
                started=self._started,
                ended=ended,
            ),
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        if self._fault:
            raise pytest.exit.Exception(self._fault, returncode=4)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        if not self._records:
            yield
            return
        records = whole_run(self._earlier, self._records, self._recipe)
        publish_latencies(self._config, self._records)
        if not self._fault:
            try:
                self._written = write_files(self.folder, records, self._settings)
                self._write_manifest(datetime.now(UTC).isoformat(timespec="seconds"))
            except (OSError, InputError) as error:
                self._fault = f"results: cannot be written to {self.folder}: {error}"
        if self._journal is not None:
            with suppress(OSError):
                self._journal.close()
        self._verdicts = [verdict for gate in self._gates for verdict in judge_gate(gate, records)]
        for verdict in self._verdicts:
            _report_gate(session.config, verdict)
        session.exitstatus = self._exit_status(int(session.exitstatus), records)
        yield

    def _exit_status(self, status: int, records: list[Record]) -> int:
        if status not in (0, 1):
            return status
        void = sum(record["outcome"] in ("invalid", "error") for record in records)
        if self._fault:
            return 4
        if void * 100 > self._settings.max_errors * len(records):
            return VOID
        return GATE_FAILED if any(not verdict.passed for verdict in self._verdicts) else status

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if not self._records:
            return
        terminalreporter.ensure_newline()
        if self._written is not None:
            color = terminalreporter.hasmarkup
            encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
            width = self._config.get_terminal_writer().fullwidth
            for line in self._written.terminal_lines(color=color, encoding=encoding, width=width):
                terminalreporter.write_line(line)
            if self._config.option.verbose > 0:
                for line in self._written.statistics:
                    terminalreporter.write_line(line)
            terminalreporter.write_sep("-", f"results: {_relative(self.folder)}")
            for path in self._written.paths:
                terminalreporter.write_line(_relative(path))
        for verdict in self._verdicts:
            terminalreporter.write_line(f"gate {verdict.line}", green=verdict.passed, red=not verdict.passed)
        for line in ambiguous_words(self._config.option.keyword or "", self._records):
            terminalreporter.write_line(line, yellow=True)
        if self._fault:
            terminalreporter.write_line(self._fault, red=True)
        _step_summary(self._written, self._verdicts)


def ambiguous_words(keyword: str, records: Sequence[Record]) -> list[str]:
    """Say where a word of `-k` took more than one value: `-k depth10` matches depth 100 too."""
    lines = []
    for word, kind, number in re.findall(r"((depth|len)(\d+(?:\.\d+)?))(?![\w.-])", keyword):
        values = {depth_label(r["depth"]) if kind == "depth" else str(r["length"]) for r in records}
        taken = sorted((value for value in values if value.startswith(number)), key=len)
        if len(taken) > 1:
            option = "depths" if kind == "depth" else "lengths"
            lines.append(f"-k {word} took {', '.join(taken)}; -k '{word}-' or --{option} {number} takes one")
    return lines


def _report_gate(config: pytest.Config, verdict: Verdict) -> None:
    """A gate as a test of its own: in the short summary, in the counts, a case in JUnit XML."""
    report = pytest.TestReport(
        nodeid=f"gate::{verdict.gate} ({verdict.group})",
        location=("gate", 0, f"{verdict.gate} ({verdict.group})"),
        keywords={},
        outcome="passed" if verdict.passed else "failed",
        longrepr=None if verdict.passed else verdict.line,
        when="call",
        user_properties=[("value", verdict.value), ("n", verdict.tally.n)],
    )
    config.hook.pytest_runtest_logreport(report=report)


def _step_summary(written: Written | None, verdicts: list[Verdict]) -> None:
    """Gates and overall scores for the page of a GitHub run."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path or written is None:
        return
    lines = ["## Needlework", "", *written.markdown_lines()]
    if verdicts:
        lines += ["", "| gate | group | verdict | value | n |", "|---|---|---|---|---|"]
        lines += [
            f"| `{each.gate}` | {each.group} | {'pass' if each.passed else '**fail**'} | "
            f"{'' if each.value is None else f'{each.value:.3f}'} | {each.tally.n} |"
            for each in verdicts
        ]
    with suppress(OSError), Path(path).open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n\n")


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
