"""`--shard`: what a shard's folder tells of its cells, and what the terminal says of the rest."""

from __future__ import annotations

from contextlib import suppress

import pytest

from needlework.haystack_fixtures.session.kept import settings_of
from needlework.haystack_fixtures.session.sharding import DIVISION
from needlework.haystack_fixtures.workers.shard import shard_named
from needlework.haystack_fixtures.workers.top_up_items import cell_of
from needlework.results.records.shard_file import write_shard_file
from needlework.results.session.kept import folder_of, recorder_of
from needlework.results.style.text import relative


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
