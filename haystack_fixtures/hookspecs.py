"""Hooks that other plugins may implement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.tasks.task import Task
from needlework.haystack_fixtures.trials.exchange import Exchange, StoredAnswer


@pytest.hookspec
def pytest_needlework_tasks(config: pytest.Config) -> Sequence[Task] | None:
    """Give tasks of your own; a test asks their cells by `@pytest.mark.cells("my_task")`.

    Called once, before anything is collected: it is seen in plug-ins, and in the `conftest.py` of the folder that
    pytest is started in or given. See docs/extend.md::

        def pytest_needlework_tasks(config):
            return [MY_TASK]
    """


@pytest.hookspec(firstresult=True)
def pytest_cell_stored(config: pytest.Config, key: str) -> StoredAnswer | None:
    """Give the answer of a trial that has been answered before, found by its key, or `None`.

    The results plugin answers from the journal of a resumed run; the stored answer is then scored again in place of
    asking the model::

        def pytest_cell_stored(config, key):
            return my_answers.get(key)  # a dict of `StoredAnswer`s
    """


@pytest.hookspec
def pytest_cell_answered(config: pytest.Config, exchange: Exchange) -> None:
    """An answer has come, before its cell's turn. Called in threads, as soon as the request ends.

    The results plugin writes it down, so that no answer is lost when the run is killed.
    """


@pytest.hookspec
def pytest_cell_waits(config: pytest.Config, exchange: Exchange) -> None:
    """An exchange is there before its cell's turn: its answer has come, or was stored. Called only in runs whose judges
    may be asked several questions at once; in threads, which it must not hold up.

    The scoring plugin begins to ask the judges.
    """


@pytest.hookspec
def pytest_needlework_news(config: pytest.Config, line: str) -> None:
    """Something has come up while cells run that who waits should know at once: a server has fallen silent.

    Called in threads, in the process that asks. The results plugin writes the line to the terminal.
    """


@pytest.hookspec(firstresult=True)
def pytest_needlework_server_folder(config: pytest.Config) -> Path | None:
    """Name the folder for the log of a server that the run starts. The results plugin names one in the run's folder."""


@pytest.hookspec
def pytest_needlework_questions(config: pytest.Config, open_model: Any) -> None:
    """Write the questions that the run is to ask, where a model is to write them (`--questions-model`).

    Called once, in the process that writes the results, before cells are made. `open_model` opens the model as
    `needlework.results.judging.asking.OpenJudge` says. The results plugin writes them into the run's folder.
    """


@pytest.hookspec(firstresult=True)
def pytest_top_up_cells(config: pytest.Config) -> Sequence[Cell] | None:
    """Name cells to run beyond those that were selected: further repeats of theirs. Asked only with `--top-up`, and
    with `--adaptive`, where no cell runs that is not named here.

    Called in the process that writes the results, when everything has run, and again when those cells have; `None`
    ends the run. The results plugin names what undecided gates need, and what an adaptive run asks next.
    """
