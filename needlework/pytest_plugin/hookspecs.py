"""Hooks that a `conftest.py` or a plug-in may implement. docs/extend.md has an example of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from needlework.core.grid import Cell
from needlework.core.record import Record
from needlework.haystack_fixtures.tasks.task import Task

if TYPE_CHECKING:
    from needlework.results.statistics.run_report import RunReport


@pytest.hookspec
def pytest_needlework_tasks(config: pytest.Config) -> Sequence[Task] | None:
    """Give tasks of your own; a test asks their cells by `@pytest.mark.cells("my_task")`.

    Called once, before anything is collected: it is seen in plug-ins, and in the `conftest.py` of the folder that
    pytest is started in or given.
    """


@pytest.hookspec
def pytest_needlework_record(config: pytest.Config, record: Record) -> None:
    """Called with the record of each trial that ended, in that order, by the process that writes.

    What is changed here changes nothing: it is a copy, and the journal has the record already.
    """


@pytest.hookspec
def pytest_needlework_report(config: pytest.Config, report: RunReport, folder: Path) -> None:
    """Called when a run's files, made from `report`, are in `folder`; once in a session that ran a cell,
    also where it was interrupted (`report.planned` is then more than its records).
    """


@pytest.hookspec(firstresult=True)
def pytest_needlework_more_cells(config: pytest.Config) -> Sequence[Cell] | None:
    """Name cells to run beyond the selected ones: further repeats of theirs.
    Called only with `--top-up`, and with `--adaptive`, where no cell runs that is not named here.

    Called in the process that writes the results, when everything has run, and again when those cells have; `None`
    ends the run, and so does an empty list. needlework names what undecided gates need, and what an adaptive run asks
    next; a `conftest.py` is asked when it names nothing: `[replace(cell, repeat=cell.repeat + 1), ...]`.
    """
