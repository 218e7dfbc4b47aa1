"""What a pytest session keeps of a run, and what its options say."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from needlework.core.errors import InputError
from needlework.core.files import default_cache_dir
from needlework.core.grid import Misfit
from needlework.core.settings import Settings, own_of
from needlework.haystack_fixtures.configuration.presets import OPTIONS, task_suite
from needlework.haystack_fixtures.configuration.resolve import resolve_settings, written
from needlework.haystack_fixtures.corpora.corpus_named import stand_ins, with_text_at_hand
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Series, Tasks, grid, with_tasks
from needlework.haystack_fixtures.tasks.published import leval
from needlework.haystack_fixtures.tasks.published.leval import own_tasks
from needlework.haystack_fixtures.tasks.published.leval_files import LevalOptions
from needlework.models.engines.serve import ServedRun, served_run, with_server
from needlework.pipeline.engine import Engine
from needlework.pipeline.exchange import Exchange
from needlework.pipeline.queue import Queue
from needlework.pipeline.window import Filled, asks_window, filled, with_length
from needlework.pytest_plugin.workers import distribution
from needlework.pytest_plugin.workers.distribution import given_to_worker

if TYPE_CHECKING:
    from needlework.models.engines.serve import Serving


SETTINGS = pytest.StashKey[Settings]()
_TASKS = pytest.StashKey[Tasks]()
_GRID = pytest.StashKey[tuple[Series, ...]]()
ENGINE = pytest.StashKey[Engine]()
QUEUE = pytest.StashKey[Queue]()
EXCHANGE = pytest.StashKey[Exchange]()
"""In the config's stash: the last exchange of the test that runs; absent until it has asked."""
SERVER = "needlework_server"  # what a worker is given of it
WINDOW = "needlework_window"  # what a worker is given for `--lengths window`
FILLED = pytest.StashKey[Filled]()
"""The length that fills the window; absent where none was asked for."""
SERVED = pytest.StashKey[ServedRun | None]()
_SERVING: pytest.StashKey[Serving | None] = pytest.StashKey()
MISFITS = pytest.StashKey[tuple[Misfit, ...]]()
"""What is left out of the run, too short for its task; set when the first process has looked."""
THRESHOLDS = pytest.StashKey[tuple[int, int, int]]()
"""How often the garbage collector looks, outside of the run."""
STAND_INS = pytest.StashKey[list[str]]()


def tasks_of(config: pytest.Config) -> Tasks:
    """The tasks that this run knows, by name: ours, installed packages', and those of `pytest_needlework_tasks`."""
    if _TASKS not in config.stash:
        given = config.hook.pytest_needlework_tasks(config=config)
        try:
            of_files = own_tasks(written(command_line(config), ini(config), "leval_data"))
            config.stash[_TASKS] = with_tasks([*given[::-1], *of_files])
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[_TASKS]


def settings_of(config: pytest.Config) -> Settings:
    """The run's settings, resolved on first use: other plugins' hooks may come before ours."""
    if SETTINGS not in config.stash:
        try:
            # Without an ini file pytest's root depends on which words of the command line are folders.
            root = config.rootpath if config.inipath else config.invocation_params.dir
            others = [
                task_suite(name, task.suite)
                for name, task in tasks_of(config).items()
                if name not in TASKS and task.family != leval.FAMILY
            ]
            asked = resolve_settings(command_line(config), ini(config), root, own=others)
            config.stash[SERVED] = served = served_run(asked)
            asked = with_server(asked, served) if served else asked
            config.stash[STAND_INS] = stand_ins(asked)
            config.stash[SETTINGS] = _with_window(config, with_text_at_hand(asked))
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[SETTINGS]


def hand_over(config: pytest.Config, settings: Settings) -> None:
    """Have a session run with these settings, which are resolved and its own, in place of what it is started with.

    Raises `InputError`.
    """
    given = dict.fromkeys(own_of(suite, LevalOptions).leval_data for suite in settings.suites)
    config.stash[_TASKS] = with_tasks([task for data in given for task in own_tasks(data)])
    config.stash[SETTINGS], config.stash[SERVED], config.stash[STAND_INS] = settings, None, []


def _with_window(config: pytest.Config, settings: Settings) -> Settings:
    """The settings with a number for `--lengths window`; workers take that of their controller."""
    if not asks_window(settings):
        return settings
    if given := given_to_worker(config, WINDOW):
        return with_length(settings, int(given))
    config.stash[FILLED] = found = filled(settings, tasks_of(config), default_cache_dir())
    return with_length(settings, found.tokens)


def grid_of(config: pytest.Config) -> tuple[Series, ...]:
    """All cells of the run by series, made on first use. Raises `InputError`."""
    if _GRID not in config.stash:
        config.stash[_GRID] = grid(settings_of(config), tasks_of(config))
    return config.stash[_GRID]


def engine_of(config: pytest.Config) -> Engine:
    """This process's engine, made on first use."""
    if ENGINE not in config.stash:
        config.stash[ENGINE] = Engine(
            settings_of(config),
            default_cache_dir(),
            workers=distribution.worker_count(config),
            tasks=tasks_of(config),
            serving=serving_of(config),
            tell=teller_of(config),
        )
    return config.stash[ENGINE]


def teller_of(config: pytest.Config) -> Callable[[str], object]:
    """What is given a line for who waits, in threads."""
    return lambda line: config.hook.pytest_needlework_news(config=config, line=line)


def serving_of(config: pytest.Config) -> Serving | None:
    """The server that this run starts, or that its controller has started; made on first use, and not started."""
    settings_of(config)
    if _SERVING not in config.stash:
        config.stash[_SERVING] = _served_by(config, served) if (served := config.stash[SERVED]) else None
    return config.stash[_SERVING]


def _served_by(config: pytest.Config, served: ServedRun) -> Serving:
    from needlework.models.engines.serve import Serving

    return Serving(served, lambda: _server_folder(config), given_to_worker(config, SERVER))


def _server_folder(config: pytest.Config) -> Path:
    """Where the server's log goes: into the run's folder."""
    found = config.hook.pytest_needlework_server_folder(config=config)
    return found if isinstance(found, Path) else Path(tempfile.mkdtemp(prefix="needlework-server-"))


def queue_of(config: pytest.Config) -> Queue:
    """This process's queue of cells, made on first use."""
    if QUEUE not in config.stash:
        config.stash[QUEUE] = Queue(
            engine_of(config),
            stored=lambda key: config.hook.pytest_cell_stored(config=config, key=key),
            keep=lambda exchange: config.hook.pytest_cell_answered(config=config, exchange=exchange),
            waits=lambda exchange: config.hook.pytest_cell_waits(config=config, exchange=exchange),
        )
    return config.stash[QUEUE]


def forget_exchange(config: pytest.Config) -> None:
    """Let go of a test's exchange, which has its whole prompt."""
    if EXCHANGE in config.stash:
        del config.stash[EXCHANGE]


# Said by the machine that a process is on; the command line comes before it, files come after.
_OF_ENVIRONMENT = {"base_url": "NEEDLEWORK_BASE_URL"}


def command_line(config: pytest.Config) -> dict[str, str | list[str]]:
    given = {option.key: config.getoption(option.key) for option in OPTIONS}
    said = {key: _word(value) for key, value in given.items() if value is not None}
    return {key: value for key, name in _OF_ENVIRONMENT.items() if (value := os.environ.get(name, "").strip())} | said


def _word(value: Any) -> Any:
    """argparse reads `--option=--` as an empty list."""
    return "--" if value == [] else [_word(each) for each in value] if isinstance(value, list) else value


def ini(config: pytest.Config) -> dict[str, str | list[str]]:
    given = {option.key: config.getini(option.key) for option in OPTIONS}
    return {key: value for key, value in given.items() if value}
