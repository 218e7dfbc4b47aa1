"""The controller's side of recording: journal, files at the end, gates, exit code. Only this process writes."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.session.kept import grid_of
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.documents.votes import votes_of
from needlework.haystack_fixtures.whole_files import drop_halves
from needlework.haystack_fixtures.workers.cells_to_come import cells_to_come
from needlework.haystack_fixtures.workers.distribution import has_workers
from needlework.haystack_fixtures.workers.top_up_items import cell_of
from needlework.results.gates.cases import gate_case
from needlework.results.gates.gate import Gate
from needlework.results.gates.gatekeeper import Gatekeeper
from needlework.results.gates.report import gate_lines, gate_rows
from needlework.results.gates.verdict import Verdict
from needlework.results.records.journal import Journal, drop_waiting, line_of, read_journal
from needlework.results.records.manifest import command_line, manifest, merge_facts, models_before, write_manifest
from needlework.results.records.recipe import recipe_of
from needlework.results.records.record import Record
from needlework.results.records.run_folder import JOURNAL, MANIFEST, whole_run
from needlework.results.records.tests_of_cells import identity
from needlework.results.records.windows import windows_of
from needlework.results.run.ambiguous_words import ambiguous_words
from needlework.results.run.carried import carried_by
from needlework.results.run.exit_status import exit_status, is_void
from needlework.results.run.latency import publish_latencies
from needlework.results.run.lost_cells import lost_cell
from needlework.results.run.selected import Selected
from needlework.results.run.signals import EndSignals
from needlework.results.run.step_summary import write_step_summary
from needlework.results.style.text import one_line
from needlework.results.tables.replayed import replayed_lines
from needlework.results.tables.shared_tokens import shared_lines
from needlework.results.tables.unscored import unscored_lines

if TYPE_CHECKING:
    from needlework.results.statistics.run_report import RunReport


class Recorder:
    """Takes every record as it comes. Inert until a cell is collected."""

    def __init__(self, config: pytest.Config, settings: Settings, folder: Path, gates: list[Gate]) -> None:
        self._config = config
        self._settings = settings
        self._gates = gates
        self._recipe = recipe_of(settings)
        self._records: list[Record] = []
        self._earlier: list[Record] | None = None
        self._facts: dict[str, Any] = {}
        self._journal: Journal | None = None
        self._journaled: set[tuple[str, str, str]] = set()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._report: RunReport | None = None
        self._files: tuple[Path, ...] = ()
        self._gatekeeper: Gatekeeper | None = None
        self._verdicts: list[Verdict] = []
        self._session: pytest.Session | None = None
        self._fault = ""
        self._broken_report = ""
        self._written_at = "earlier"
        self._selected = Selected()
        self._signals = EndSignals()
        self.folder = folder

    @property
    def earlier(self) -> list[Record]:
        """What the journal held before this session."""
        if self._earlier is None:
            with suppress(OSError):
                at = datetime.fromtimestamp((self.folder / JOURNAL).stat().st_mtime)
                self._written_at = at.isoformat(" ", timespec="minutes")
            self._earlier = read_journal(self.folder / JOURNAL)
        return self._earlier

    def pytest_report_header(self) -> str | None:
        if self._settings.plan or self._config.option.collectonly or not cells_to_come(self._config):
            return None
        models = ", ".join(dict.fromkeys(self._settings.model))
        return f"needlework: preset {self._settings.preset}, model {models}, results in {_relative(self.folder)}"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Under workers: a folder that cannot take the results is found before they start."""
        self._session = session
        if has_workers(self._config) and not self._config.option.collectonly and cells_to_come(self._config):
            self._open_or_refuse()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        option = session.config.option
        only_looks = option.collectonly or option.showfixtures or option.show_fixtures_per_test
        if only_looks or self._settings.plan:
            return
        cells = [item.nodeid for item in session.items if cell_of(item) is not None]
        self._selected.add(cells)
        if cells and self._journal is None:
            self._open_or_refuse()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        first = not self._selected
        self._selected.add(ids)
        if first and self._journal is not None:
            with suppress(OSError):  # the journal tells of a full disk
                self._write_manifest(None)

    def _open_or_refuse(self) -> None:
        try:
            self._open()
        except InputError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        carried = carried_by(report)
        if carried is not None and carried.record is not None:
            merge_facts(self._facts, carried.facts)
            self._keep(carried.record)
            self._fault = self._fault or carried.fault
        elif report.failed and report.when != "teardown":
            lost = lost_cell(report, grid_of(self._config), recipe=self._recipe, seed=self._settings.seed)
            if lost is not None:
                self._keep(lost)

    def _keep(self, record: Record) -> None:
        self._records.append(record)
        if not self._fault:
            self._journalise(record)
        # After the journal: no hook can change what stands there, nor keep a record out of it.
        self._config.hook.pytest_needlework_recorded(config=self._config, record=record)

    def _journalise(self, record: Record) -> None:
        try:
            if self._journal is None:
                self._open()
            if self._gatekeeper is not None:
                self._gatekeeper.check(record, self._facts)
            if not record["timing"].get("replayed") or identity(record) not in self._journaled:
                cast(Journal, self._journal).append(line_of(record))
        except InputError as error:
            self._fault = str(error)

    def _open(self) -> None:
        if self._gates:
            self._gatekeeper = Gatekeeper(self._settings, grid_of(self._config), self._gates, self.folder)
        path = self.folder / JOURNAL
        self._journal = Journal(path, fresh=self._settings.fresh)
        self._earlier = [] if self._settings.fresh else self.earlier
        self._journaled = {identity(record) for record in self._earlier}
        if self._earlier:
            self._facts = {"models": models_before(self.folder / MANIFEST, self._recipe)}
        try:
            drop_halves(self.folder)
            if self._settings.fresh:
                for pattern in ("heatmap-*", "tasks-*", "documents-*", "results.*", "cells.csv", "report.html"):
                    for old in self.folder.glob(pattern):
                        old.unlink()
                drop_waiting(self.folder)
            with suppress(OSError):
                (self._settings.results_dir / ".gitignore").write_text("*\n")
            self._write_manifest(None)
            self._signals.start()
        except OSError as error:
            with suppress(OSError):
                self._journal.close()
            problem = f"cannot be written ({error.strerror}); free space and run again"
            raise InputError("--results-dir", self.folder, problem) from None

    def _write_manifest(self, ended: str | None) -> None:
        records = whole_run(self.earlier, self._records, self._recipe)
        write_manifest(
            self.folder / MANIFEST,
            manifest(
                self._settings,
                argv=command_line(),
                root=self._config.rootpath,
                facts=self._facts,
                started=self._started,
                ended=ended,
                planned=self._selected.planned(records),
                recorded=len(records),
            ),
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._selected.end(nodeid)
        if self._fault:
            raise pytest.exit.Exception(self._fault, returncode=4)

    def pytest_top_up_cells(self) -> list[Cell] | None:
        """`--top-up`: what undecided gates ask for; nothing in a run that is void."""
        if self._gatekeeper is None or self._session is None or self._fault:
            return None
        records = whole_run(self.earlier, self._records, self._recipe)
        if self._void(records):
            return None
        cells = self._gatekeeper.further(records, self._records, windows_of(self._facts))
        self._session.testscollected += len(cells)
        if not cells:
            return None
        writer = self._config.get_terminal_writer()
        if writer.width_of_current_line:
            writer.line()
        writer.line(f"top-up: {len(cells)} further trials for gates that are not decided")
        return cells

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        if not self._records:
            yield
            return
        self._signals.ignore()  # what they ask for, an end with all files, is under way
        # What draws and writes is loaded when there is something to: collecting and workers need none of it.
        from needlework.results.pictures.panel import Style
        from needlework.results.run.write_all import write_files
        from needlework.results.statistics.length.base import parse_relative_to
        from needlework.results.statistics.published.needlebench import design_of
        from needlework.results.statistics.run_report import interrupted, run_report

        records = whole_run(self.earlier, self._records, self._recipe)
        publish_latencies(self._config, self._records)
        planned = self._selected.planned(records)
        if self._gatekeeper is not None:
            early = interrupted(len(records), planned)
            self._verdicts = self._gatekeeper.verdicts(records, early, windows_of(self._facts))
        if not self._fault:
            try:
                style = Style(colors=self._settings.heatmap_colors, numbers=self._settings.heatmap_numbers)
                design = design_of(self._settings)
                base = parse_relative_to(self._settings.relative_to)
                report = run_report(
                    records,
                    design=design,
                    vote=votes_of(self._settings.suites),
                    relative_to=base,
                    planned=planned,
                    gates=gate_rows(self._verdicts),
                )
                self._files = write_files(self.folder, report, style)
                self._report = report
                self._write_manifest(datetime.now(UTC).isoformat(timespec="seconds"))
            except (OSError, InputError) as error:
                problem = getattr(error, "strerror", None) or error
                remedy = f"cannot be written ({problem}); free space and run again: every answer is in the journal"
                self._fault = str(InputError("results", self.folder, remedy))
        if self._journal is not None:
            if not self._fault:
                drop_waiting(self.folder)
            with suppress(OSError):
                self._journal.close()
        for verdict in self._verdicts:
            for case in gate_case(verdict):
                session.config.hook.pytest_runtest_logreport(report=case)
                vars(case)["in_summary"] = True
        session.exitstatus = exit_status(
            int(session.exitstatus),
            fault=bool(self._fault),
            early=self._report is not None and bool(self._report.interrupted),
            void=self._void(records),
            verdicts=self._verdicts,
        )
        if self._report is not None and (problem := self._hand_on(self._report)):
            self._broken_report = problem
            session.exitstatus = int(session.exitstatus) or 1
        yield

    def _hand_on(self, report: RunReport) -> str:
        """Call the reports of the user's own; what one of them raises, as a line."""
        try:
            self._config.hook.pytest_needlework_written(config=self._config, report=report, folder=self.folder)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - `pytest.fail` and `sys.exit` too: our exit status is the gates'
            return one_line(
                f"pytest_needlework_written failed ({type(error).__name__}: {error}); our own files are whole"
            )
        return ""

    def pytest_unconfigure(self) -> None:
        self._signals.stop()

    def _void(self, records: list[Record]) -> bool:
        return is_void(records, windows_of(self._facts), self._settings.max_errors)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._records:
            return
        terminalreporter.ensure_newline()
        if self._report is not None:
            self._tell(terminalreporter, self._report)
        colors = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
        further = self._gatekeeper.spent if self._gatekeeper else 0
        for line, state in gate_lines(self._verdicts, further) if self._verdicts else ():
            terminalreporter.write_line(line, **({colors[state]: True} if state else {}))
        for line in self._gatekeeper.differences(self.folder / MANIFEST) if self._gatekeeper else ():
            terminalreporter.write_line(line)
        others = sum(record["details"].get("recipe") != self._recipe for record in self.earlier)
        if others:
            terminalreporter.write_line(
                f"{self.folder.name} also holds {others} records of a run with other options: they stay in the journal"
                " and out of these files; use another --run-name, or --fresh to drop them",
                yellow=True,
            )
        for line in ambiguous_words(self._config.option.keyword or "", self._records):
            terminalreporter.write_line(line, yellow=True)
        for line in (self._fault, self._broken_report):
            if line:
                terminalreporter.write_line(line, red=True)
        write_step_summary(self._report, self._verdicts)

    def _tell(self, terminalreporter: pytest.TerminalReporter, report: RunReport) -> None:
        from needlework.results.tables.panels import statistics_lines
        from needlework.results.tables.run import next_line, run_lines

        color = terminalreporter.hasmarkup
        encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
        width = self._config.get_terminal_writer().fullwidth
        colors = self._settings.heatmap_colors
        for line in run_lines(report, color=color, encoding=encoding, width=width, colors=colors):
            terminalreporter.write_line(line)
        if self._config.option.verbose > 1:
            for line in statistics_lines(report.statistics, report.twins):
                terminalreporter.write_line(line)
        for line in unscored_lines(self._records, windows_of(self._facts)):
            terminalreporter.write_line(line, red=line.startswith("invalid"), yellow=line.startswith("skipped"))
        for line in shared_lines(self._records):
            terminalreporter.write_line(line)
        for line in replayed_lines(self._records, self._written_at):
            terminalreporter.write_line(line)
        terminalreporter.write_sep("-", f"results: {_relative(self.folder)}")
        for path in self._files:
            terminalreporter.write_line(_relative(path))
        terminalreporter.write_line(next_line(report, _relative(self.folder)))


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
