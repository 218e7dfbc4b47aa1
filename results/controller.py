"""The controller's side of recording: journal, files at the end, gates, exit code. Only this process writes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from _pytest.terminal import TerminalReporter

from haystack_fixtures.cells import depth_label, parse_id
from haystack_fixtures.distribution import has_workers
from haystack_fixtures.errors import InputError
from haystack_fixtures.plugin import asks_cells, cell_of
from haystack_fixtures.settings import Settings
from haystack_fixtures.tasks.load import Series, grid
from results.gates import Gate, Verdict, judge_gate
from results.journal import Journal, read_journal
from results.latency import publish_latencies
from results.manifest import command_line, manifest, merge_facts, write_manifest
from results.recipe import recipe_of
from results.recorder import lost_record
from results.records import Record
from results.run_folder import JOURNAL, whole_run
from results.step_summary import write_step_summary
from results.writers import Written, write_files

GATE_FAILED, VOID = 1, 11
GATE = "gate::"


class Recorder:
    """Takes every record as it comes. Inert until a cell is collected."""

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
        if self._settings.plan or self._config.option.collectonly or not asks_cells(self._config):
            return None
        models = ", ".join(dict.fromkeys(self._settings.model))
        return f"needlework: preset {self._settings.preset}, model {models}, results in {_relative(self.folder)}"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        """Under workers: a folder that cannot take the results is found before they start."""
        if has_workers(self._config) and not self._config.option.collectonly and asks_cells(self._config):
            self._open_or_refuse()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        option = session.config.option
        only_looks = option.collectonly or option.showfixtures or option.show_fixtures_per_test
        if self._journal is not None or only_looks or self._settings.plan:
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
            if self._config.option.verbose > 1:
                for line in self._written.statistics:
                    terminalreporter.write_line(line)
            terminalreporter.write_sep("-", f"results: {_relative(self.folder)}")
            for path in self._written.paths:
                terminalreporter.write_line(_relative(path))
        for verdict in self._verdicts:
            terminalreporter.write_line(f"gate {verdict.line}", green=verdict.passed, red=not verdict.passed)
        others = sum(record["details"].get("recipe") != self._recipe for record in self._earlier)
        if others:
            terminalreporter.write_line(
                f"{self.folder.name} also holds {others} records of a run with other options: they stay in the journal"
                " and out of these files; use another --run-name, or --fresh to drop them",
                yellow=True,
            )
        for line in ambiguous_words(self._config.option.keyword or "", self._records):
            terminalreporter.write_line(line, yellow=True)
        if self._fault:
            terminalreporter.write_line(self._fault, red=True)
        write_step_summary(self._written, self._verdicts)


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
    # Brackets would be read as a test's parameters.
    name = f"{verdict.gate} ({verdict.group})".replace("[", "(").replace("]", ")")
    report = pytest.TestReport(
        nodeid=f"{GATE}{name}",
        location=("gate", 0, name),
        keywords={},
        outcome="passed" if verdict.passed else "failed",
        longrepr=None if verdict.passed else verdict.line,
        when="call",
        user_properties=[("value", verdict.value), ("n", verdict.tally.n)],
    )
    config.hook.pytest_runtest_logreport(report=report)


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
