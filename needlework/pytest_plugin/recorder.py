"""Records of a session: from reports to the run's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy
import pytest

from needlework.core.errors import EndSignals, InputError
from needlework.core.grid import Cell, parse_id
from needlework.core.record import FINAL, Record
from needlework.core.settings import Settings
from needlework.pytest_plugin.latency import publish_latencies
from needlework.pytest_plugin.progress import PROGRESS, ProgressLine
from needlework.pytest_plugin.reports import gate_case, payload_of
from needlework.pytest_plugin.run_state import run_state
from needlework.pytest_plugin.workers import cell_of, cells_for_workers, cells_to_come, only_looks, usage_errors
from needlework.results.records.samples import name_of_test, windows_of
from needlework.results.run.open_folder import OpenFolder
from needlework.results.run.session import Selected, exit_status, is_void
from needlework.results.statistics.run_facts import SpendingCap, spent
from needlework.results.style import counted, one_line, relative

if TYPE_CHECKING:
    from needlework.results.adaptive.survey import AdaptiveRun
    from needlework.results.gates.gate import Gate, Verdict
    from needlework.results.gates.gatekeeper import Gatekeeper
    from needlework.results.run.finish import Finished


class Recorder:
    """Takes every record as it comes. Inert until a cell is collected."""

    def __init__(self, config: pytest.Config, settings: Settings, folder: Path, gates: list[Gate]) -> None:
        self._config, self._settings = config, settings
        self._gates = gates
        self._gatekeeper: Gatekeeper | None = None
        self._verdicts: list[Verdict] = []
        self._records: list[Record] = []
        self._selected = Selected()
        self._adaptive: AdaptiveRun | None = None
        self._signals = EndSignals()
        self._session: pytest.Session | None = None
        self._finished: Finished | None = None
        self._cap = SpendingCap(settings.max_cost, settings.max_tokens)
        self._spent = (0.0, 0)  # dollars and tokens of the run, earlier sessions included; counted under a cap
        self._ended = ""  # why the run ends before its last cell
        self._fault = ""
        self._broken_report = ""
        self.folder = OpenFolder(settings, folder, config.rootpath, self._selected)

    def pytest_report_header(self) -> list[str] | None:
        if self._settings.plan or self._config.option.collectonly or not cells_to_come(self._config):
            return None
        models = ", ".join(dict.fromkeys(self._settings.model))
        line = f"needlework: preset {self._settings.preset}, model {models}, results in {relative(self.folder.path)}"
        cap = [f"needlework: {self._cap.words}"] * bool(self._cap)
        return [line, *cap, *self.folder.replaced()]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Open the folder before workers start, so that an unusable one is found in time."""
        self._session = session
        if self._settings.adaptive and cells_to_come(self._config):
            from needlework.results.adaptive.survey import AdaptiveRun

            alone = not run_state(self._config).in_flight
            self._adaptive = AdaptiveRun(self._settings, run_state(self._config).grid, alone=alone)
        if cells_for_workers(self._config):
            self._open_or_refuse()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        cells = [item.nodeid for item in session.items if cell_of(item) is not None]
        if self._settings.plan and cells:
            self._check_scopes(cells)
        if only_looks(session.config) or self._settings.plan:
            return
        self._collected(cells)
        if cells and not self.folder.is_open:
            self._open_or_refuse(cells)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        first = not self._selected
        if first:
            self._check_scopes(ids)
        self._collected(ids)
        if first and self.folder.is_open:
            with suppress(OSError):  # the journal tells of a full disk
                records = self.folder.whole(self._records)
                self.folder.write_manifest(self.folder.manifest(self._records, records))

    def _collected(self, ids: Sequence[str]) -> None:
        if self._adaptive is None:
            self._selected.add(ids)
        else:
            self._adaptive.select(cell for nodeid in ids if (cell := parse_id(nodeid)) is not None)

    def _check_scopes(self, tests: Iterable[str] | None = None) -> None:
        """`tests`: those that are selected, by node ids, once they are known."""
        if not self._gates:
            return
        from needlework.results.gates.gate import check_scopes

        selected = None
        if self._settings.shard is None and tests is not None:  # a shard asks a part of what its command selects
            selected = {cell.id for cell in map(parse_id, tests) if cell is not None}
        with usage_errors():
            check_scopes(self._gates, run_state(self._config).grid, selected)

    def _open_or_refuse(self, tests: Iterable[str] | None = None) -> None:
        self._check_scopes(tests)
        with usage_errors():
            self._open()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        payload = payload_of(report)
        if payload is not None and payload.record is not None:
            self.folder.learn(payload.facts)
            self._keep(payload.record)
            self._fault = self._fault or payload.fault
        elif report.failed and report.when != "teardown":
            from needlework.results.run.record_builder import lost_record

            reason, grid = str(report.longrepr), run_state(self._config).grid
            lost = lost_record(report.nodeid, reason, grid, recipe=self.folder.recipe, seed=self._settings.seed)
            if lost is not None:
                self._keep(lost)

    def _keep(self, record: Record) -> None:
        self._records.append(record)
        if not self._fault:
            try:
                if not self.folder.is_open:
                    self._open()
                if self._gatekeeper is not None:
                    self._gatekeeper.check(record, self.folder.facts)
                self.folder.keep(record)
            except InputError as error:
                self._fault = str(error)
        if self._cap and not record.timing.replayed:
            dollars, tokens = spent([record], self._settings.price)
            self._spent = self._spent[0] + dollars, self._spent[1] + tokens
            if reached := self._cap.reached(*self._spent):
                option, most, words = reached
                self._ended = f"{option} {most} is reached ({words}): with more, the same command goes on"
        # After the journal, and a copy: no hook can change what is reported, nor keep a record out of it.
        hook = self._config.hook.pytest_needlework_record
        if hook.get_hookimpls():
            self._hand_on(hook, record=deepcopy(record))

    def _open(self) -> None:
        if self._gates and self._settings.shard is None:  # a part decides nothing: needlework merge judges
            from needlework.results.gates.gatekeeper import Gatekeeper

            self._gatekeeper = Gatekeeper(self._settings, run_state(self._config).grid, self._gates, self.folder.path)
        if self._cap and not self._settings.fresh:
            self._spent = spent(self.folder.whole([]), self._settings.price)
            if reached := self._cap.reached(*self._spent):
                option, most, words = reached
                raise InputError(option, most, f"this run has spent {words} already: give more, or leave it out")
        self.folder.open()
        self._signals.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._selected.end(nodeid)
        if self._fault:
            raise pytest.exit.Exception(self._fault, returncode=4)
        if self._ended:
            raise pytest.exit.Exception(self._ended, returncode=pytest.ExitCode.INTERRUPTED)

    def pytest_needlework_more_cells(self) -> list[Cell] | None:
        """Cells for `--adaptive`'s next looks, or for undecided gates (`--top-up`), unless the run is void."""
        if self._session is None or self._fault:
            return None
        if self._adaptive is not None:
            from needlework.results.adaptive.survey import turn_line

            cells = self._adaptive.next_cells(self._records)
            return self._announce(cells, turn_line(cells))
        records = self._selected.of(self.folder.whole(self._records), self._records)
        if self._gatekeeper is None or self._is_void(records):
            return None
        cells = self._gatekeeper.next_cells(records, self.folder.facts)
        return self._announce(cells, f"top-up: {len(cells)} further trials for gates that are not decided")

    def _announce(self, cells: list[Cell], line: str) -> list[Cell] | None:
        if not cells or self._session is None:
            return None
        self._session.testscollected += len(cells)
        progress = self._config.pluginmanager.get_plugin(PROGRESS)
        if isinstance(progress, ProgressLine):
            progress.further([cell.length for cell in cells])
        run_state(self._config).write_line(line)
        return cells

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Show a line at once after Ctrl-C or a signal: writing the files takes seconds."""
        if self._records and excinfo.type is KeyboardInterrupt:
            line = f"ended early: the files of {counted(len(self._records), 'trial')} are being written"
            run_state(self._config).show_status(line)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        if not self._records:
            yield
            self.folder.close()
            return
        self._signals.ignore()  # an end with all files is under way
        self.folder.left_out(run_state(self._config).misfits)
        # What draws and writes is loaded when there is something to: collecting and workers need none of it.
        from needlework.results.gates.decide import gate_rows
        from needlework.results.run.finish import finish
        from needlework.results.statistics.run_report import interrupted

        records = self.folder.whole(self._records)
        publish_latencies(self._config, self._records)
        planned, selected = self._selected.planned(records), self._selected.of(records, self._records)
        if self._gatekeeper is not None:
            early = interrupted(len(records), planned)
            self._verdicts = self._gatekeeper.verdicts(selected, early, self.folder.facts)
        if not self._fault:
            try:
                manifest = self.folder.manifest(self._records, records, ended=True)
                self._finished = finish(
                    self.folder.path,
                    records,
                    self._settings,
                    planned=planned,
                    gates=gate_rows(self._verdicts, len(selected)),
                    series=self._adaptive.series if self._adaptive else (),
                    notes=self.folder.notes(manifest),
                    manifest=manifest,
                )
                self.folder.write_manifest(manifest)
            except (OSError, InputError) as error:
                problem = getattr(error, "strerror", None) or error
                remedy = f"cannot be written ({problem}); free space and run again: every answer is in the journal"
                self._fault = str(InputError("results", self.folder.path, remedy))
        cut_short = self._finished is not None and bool(self._finished.report.interrupted)
        whole = not self._fault and not cut_short
        self.folder.close(answered={each.key for each in records if each.outcome in FINAL} if whole else None)
        for verdict in self._verdicts:
            for case in gate_case(verdict):
                session.config.hook.pytest_runtest_logreport(report=case)
                vars(case)["in_summary"] = True
        session.exitstatus = exit_status(
            int(session.exitstatus),
            fault=bool(self._fault),
            early=cut_short,
            void=self._is_void(selected),
            verdicts=self._verdicts,
        )
        if self._finished is not None:
            report_hook = self._config.hook.pytest_needlework_report
            self._hand_on(report_hook, report=self._finished.report, folder=self.folder.path)
        if self._broken_report:
            session.exitstatus = int(session.exitstatus) or 1
        yield

    def _hand_on(self, hook: pluggy.HookCaller, **values: object) -> None:
        """Call the user's own hooks; the first error is shown at the end, in one line."""
        try:
            hook(config=self._config, **values)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - `pytest.fail` and `sys.exit` too: our exit status is the gates'
            problem = f"{hook.name} failed ({type(error).__name__}: {error}); our own files are whole"
            self._broken_report = self._broken_report or one_line(problem)

    def pytest_unconfigure(self) -> None:
        self._signals.stop()

    def _is_void(self, records: list[Record]) -> bool:
        if self._settings.shard is not None:
            return False  # of the whole run, which needlework merge sees
        return is_void(records, windows_of(self.folder.facts), self._settings.max_errors)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        if not self._records:
            if exitstatus == pytest.ExitCode.INTERRUPTED and self.folder.is_open:
                for line in self.folder.early_lines():
                    terminalreporter.write_line(line)
            return
        from needlework.pytest_plugin import last_lines
        from needlework.results.run.finish import write_step_summary

        terminalreporter.ensure_newline()
        faults = [line for line in (self._fault, self._broken_report) if line]
        end = last_lines.SessionEnd(
            self._finished, self._records, self.folder, self._verdicts, self._gatekeeper, faults
        )
        for line, color in last_lines.end_lines(end, last_lines.screen_of(terminalreporter, self._settings)):
            terminalreporter.write_line(line, **({color: True} if color else {}))
        write_step_summary(self._finished.report if self._finished else None)


def shared_cells(tests: Iterable[tuple[str, Cell]]) -> frozenset[Cell]:
    """The cells of several tests, given as node id and cell.
    Raises `InputError` where two files of one name have tests of one name: a record could not say whose it is."""
    named: dict[tuple[str, Cell], str] = {}
    for nodeid, cell in tests:
        other = named.setdefault((name_of_test(nodeid, cell.id), cell), nodeid)
        if other != nodeid:
            raise InputError("tests", f"{other} and {nodeid}", "have one name and one cell: rename one, or its file")
    counts = Counter(cell for _, cell in named)
    return frozenset(cell for cell, count in counts.items() if count > 1)
