"""The state of a run in one process of a pytest session: `run_state(config)`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from needlework.core.errors import EndSignals
from needlework.core.files import default_cache_dir
from needlework.core.grid import Cell, Misfit
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.configuration.presets import task_suite
from needlework.haystack_fixtures.configuration.resolve import resolve_settings, written_value
from needlework.haystack_fixtures.corpora.corpus import stand_ins, with_text_at_hand
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Series, Tasks, grid, with_tasks
from needlework.haystack_fixtures.tasks.published import leval
from needlework.haystack_fixtures.tasks.published.leval import own_tasks
from needlework.models.engines.serve import ServedRun, served_run, with_server
from needlework.pipeline.engine import Engine
from needlework.pipeline.exchange import Exchange, StoredAnswer
from needlework.pipeline.preparation import Filled, fill_window, with_length
from needlework.pipeline.queue import Queue
from needlework.pytest_plugin.options import command_line_values, ini_values
from needlework.pytest_plugin.workers import given_to_worker, is_worker, usage_errors, worker_count, worker_name
from needlework.results.records.journal import WaitingAnswers, read_journal, read_rulings, read_waiting, stored_answers
from needlework.results.records.run_folder import JOURNAL
from needlework.results.run.record_builder import ruled_record, unscored_record
from needlework.scoring.background import BackgroundScoring

if TYPE_CHECKING:
    from concurrent.futures import Future

    from needlework.core.devices import Division, Gpus
    from needlework.models.engines.serve import Serving
    from needlework.results.run.open_folder import OpenFolder
    from needlework.scoring.recording import ScoringResult

# What a controller gives its workers, by name.
RUN_FOLDER = "needlework_run_folder"
SERVER = "needlework_server"
WINDOW = "needlework_window"


def run_state(config: pytest.Config) -> RunState:
    """The state of the session's run, made on first use: other plugins' hooks may come before ours."""
    if _STATE not in config.stash:
        config.stash[_STATE] = RunState(config)
    return config.stash[_STATE]


class RunState:
    """The state that the parts of the plugin share. Its costly parts are made when first read."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._served: ServedRun | None = None
        self.stand_ins: list[str] = []
        self.window: Filled | None = None  # the length of `--lengths window`
        self.misfits: tuple[Misfit, ...] = ()  # lengths too short for their task, once they were checked
        self.collection_error = ""
        self.division: Division | None = None  # of a shard, once collected
        self.shared_cells: frozenset[Cell] = frozenset()  # cells of several tests
        self.cells_in_making: Sequence[Cell] | None = None  # tests are made for these in place of the grid's
        self.exchange: Exchange | None = None  # of the running test: its last answer and its last score
        self.scored: ScoringResult | None = None
        self.judging = BackgroundScoring(self.store_ruling, self.ask_while_judging)
        self.open_folder: OpenFolder | None = None  # in the process that writes results
        self.recipe = ""
        self.waiting_answers: WaitingAnswers | None = None
        self.reported_series: set[tuple[str, str, str, bool]] = set()  # whose facts the manifest has
        self.in_flight = 0  # tests that workers should know, all together, so that their requests overlap
        self.gpus: Gpus | None = None
        self.free_gpus: list[str] | None = None
        self.workers_note = ""
        self.signals: EndSignals | None = None
        self.terminal: int | None = None  # a descriptor of our own for status lines

    @cached_property
    def tasks(self) -> Tasks:
        """The run's tasks by name: ours, installed packages', and those of `pytest_needlework_tasks`."""
        of_hooks = self._config.hook.pytest_needlework_tasks(config=self._config)
        with usage_errors():
            words, ini = command_line_values(self._config), ini_values(self._config)
            of_files = own_tasks(written_value(words, ini, "leval_data"))
            return with_tasks([*of_hooks[::-1], *of_files])

    @cached_property
    def settings(self) -> Settings:
        """The run's settings. Raises `UsageError` where an option is wrong."""
        config = self._config
        with usage_errors():
            # Without an ini file pytest's root depends on which words of the command line are folders.
            root = config.rootpath if config.inipath else config.invocation_params.dir
            others = [
                task_suite(name, task.suite)
                for name, task in self.tasks.items()
                if name not in TASKS and task.family != leval.FAMILY
            ]
            settings = resolve_settings(command_line_values(config), ini_values(config), root, user_suites=others)
            self._served = served_run(settings)
            settings = with_server(settings, self._served) if self._served else settings
            self.stand_ins = stand_ins(settings)
            settings = with_text_at_hand(settings)
            if not any(suite.window for suite in settings.suites):  # a length that is not known yet
                return settings
            if of_controller := given_to_worker(config, WINDOW):
                return with_length(settings, int(of_controller))
            self.window = fill_window(settings, self.tasks, default_cache_dir())
            return with_length(settings, self.window.tokens)

    @cached_property
    def grid(self) -> tuple[Series, ...]:
        """All cells of the run by series. Raises `InputError`."""
        return grid(self.settings, self.tasks)

    @cached_property
    def engine(self) -> Engine:
        """This process's engine."""
        return Engine(
            self.settings,
            default_cache_dir(),
            workers=worker_count(self._config),
            tasks=self.tasks,
            serving=self.serving,
            tell=self.show_status,
        )

    @cached_property
    def queue(self) -> Queue:
        """This process's queue of cells."""
        stored = lambda key: self.stored_answers.get(key)  # noqa: E731 - read with the first question
        return Queue(self.engine, stored=stored, on_answer=self.store_answer, on_ready=self.judging.add)

    @cached_property
    def serving(self) -> Serving | None:
        """The server that this run starts, or that its controller has started; not started by this."""
        _ = self.settings  # says whether there is one
        if self._served is None:
            return None
        from needlework.models.engines.serve import Serving

        # The server's log goes into the run's folder.
        return Serving(self._served, lambda: self.folder / "server", given_to_worker(self._config, SERVER))

    @property
    def folder(self) -> Path:
        """The folder of the run; it need not exist."""
        if is_worker(self._config):
            return Path(cast("Any", self._config).workerinput[RUN_FOLDER])
        assert self.open_folder is not None
        return self.open_folder.path

    @cached_property
    def stored_answers(self) -> dict[str, StoredAnswer]:
        """The answers that need not be asked for, by key."""
        if self.settings.fresh:
            return {}
        earlier = self.open_folder.earlier if self.open_folder else read_journal(self.folder / JOURNAL)
        return stored_answers(earlier, read_waiting(self.folder), read_rulings(self.folder))

    def is_stored(self, cell: Cell) -> bool:
        return self.engine.key(cell) in self.stored_answers

    def store_answer(self, exchange: Exchange) -> None:
        """Write down an answer that has come before its cell's turn: no kill loses it. Called in threads."""
        self._write_line(unscored_record(exchange, worker=worker_name(self._config), recipe=self.recipe))

    def store_ruling(self, exchange: Any, scored: ScoringResult) -> None:
        """Write down rulings of judges before the cell's turn: they were paid for. Called in threads."""
        self._write_line(ruled_record(exchange, scored, worker=worker_name(self._config), recipe=self.recipe))

    def _write_line(self, line: Record | None) -> None:
        if line is not None and self.waiting_answers is not None:
            self.waiting_answers.append(line)

    def ask_while_judging(self, ruling: Future[Any]) -> None:
        """Ask the cells to come while a test waits for its judges; returns when they have ruled, or before."""
        ruling.add_done_callback(lambda _ruling: self.queue.look_ahead.wake())
        self.queue.look_ahead.fill_until(ruling.done)

    def show_status(self, line: str) -> None:
        """Show a line at once, such as that a server has fallen silent. Called in threads."""
        if self.terminal is None:
            return
        column, live = 1, False
        if (reporter := self.reporter) is not None:
            column, live = reporter._tw.width_of_current_line, reporter.hasmarkup  # noqa: SLF001 - as in progress.py
        before = ("\x1b[K" if live else "") + ("\n" if column else "")  # the live line stands behind the cursor
        with suppress(OSError):
            os.write(self.terminal, f"{before}{line}\n".encode())

    def write_line(self, line: str, **colours: bool) -> None:
        """Write a line between pytest's own; a worker writes none."""
        if (reporter := self.reporter) is not None:
            reporter.write_line(line, **{name: on for name, on in colours.items() if on})

    @property
    def reporter(self) -> pytest.TerminalReporter | None:
        """The terminal reporter; none in a worker."""
        plugin = self._config.pluginmanager.get_plugin("terminalreporter")
        return plugin if isinstance(plugin, pytest.TerminalReporter) else None


_STATE = pytest.StashKey[RunState]()
