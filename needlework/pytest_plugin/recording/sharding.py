"""Shards of a run, and what pytest-benchmark is told of cells."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress

import pytest

from needlework.core.devices import shard_named
from needlework.pytest_plugin.asking.sharding import DIVISION
from needlework.pytest_plugin.asking.state import settings_of
from needlework.pytest_plugin.recording.latency import cells_as_benchmarks, check_benchmark
from needlework.pytest_plugin.recording.state import folder_of, recorder_of
from needlework.pytest_plugin.workers.distribution import is_worker
from needlework.pytest_plugin.workers.top_up import cell_of
from needlework.results.records.run_folder import write_shard_file
from needlework.results.style import relative


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """After the recorder has opened the folder. Under workers only these know the cells."""
    config, option = session.config, session.config.option
    tests = [item.nodeid for item in session.items if cell_of(item) is not None]
    looks = option.collectonly or option.showfixtures or option.show_fixtures_per_test or settings_of(config).plan
    if tests and DIVISION in config.stash and not looks:
        with suppress(OSError):  # the journal tells of a full disk
            write_shard_file(folder_of(config), config.stash[DIVISION], tests)


def pytest_report_header(config: pytest.Config) -> list[str]:
    settings = settings_of(config)
    if settings.shard is None:
        return []
    shard = shard_named(settings.shard)
    lines = [f"needlework: shard {shard}: gates and --max-errors wait for needlework merge, which sees the whole run"]
    if settings.run_name is None:
        lines.append("needlework: without --run-name each shard has a run folder of its own: give all shards the same")
    return lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    settings = settings_of(config)
    if settings.shard is None or settings.plan or config.option.collectonly or exitstatus not in (0, 1):
        return
    run = relative(recorder_of(config).folder.path.parent.parent)
    terminalreporter.write_line(f"shard {shard_named(settings.shard)} has ended; when all have: needlework merge {run}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    cells = [item for item in items if cell_of(item) is not None]
    if cells and not is_worker(config):
        check_benchmark(config)
    with cells_as_benchmarks(config, cells):
        return (yield)
