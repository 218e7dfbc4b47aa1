"""Hooks of the plugin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.task import Task
from needlework.pipeline.exchange import Exchange, StoredAnswer
from needlework.results.records.record import Record

if TYPE_CHECKING:
    from concurrent.futures import Future

    from needlework.results.statistics.run_report import RunReport
    from needlework.scoring.background import Waiting
    from needlework.scoring.recording import Scored


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
    `needlework.results.judging.ask.OpenJudge` says. The results plugin writes them into the run's folder.
    """


@pytest.hookspec(firstresult=True)
def pytest_top_up_cells(config: pytest.Config) -> Sequence[Cell] | None:
    """Name cells to run beyond those that were selected: further repeats of theirs. Asked only with `--top-up`, and
    with `--adaptive`, where no cell runs that is not named here.

    Called in the process that writes the results, when everything has run, and again when those cells have; `None`
    ends the run. The results plugin names what undecided gates need, and what an adaptive run asks next.
    """


@pytest.hookspec
def pytest_cell_ruled(config: pytest.Config, exchange: Waiting, scored: Scored) -> None:
    """An exchange has been scored before its cell's turn, and judges may have been asked. Called in threads.

    The results plugin writes it down, so that no ruling is paid for again when the run is killed.
    """


@pytest.hookspec
def pytest_ruling_awaited(config: pytest.Config, ruling: Future[Scored]) -> None:
    """A test waits for its judges, who may take their time. Whoever has something else to do returns when they have
    ruled (`ruling.done()`), or before.

    The asking plugin asks the cells to come: a request to judges that hangs must not stop all others.
    """


@pytest.hookspec
def pytest_needlework_recorded(config: pytest.Config, record: Record) -> None:
    """A trial has ended, and this is its record. Called in the process that writes the results, in the order of ends.

    A record that is changed here is changed in every file but the journal; most want to look only::

        def pytest_needlework_recorded(config, record):
            if record["outcome"] == "error":
                print(record["id"], record["why"])
    """


@pytest.hookspec
def pytest_needlework_written(config: pytest.Config, report: RunReport, folder: Path) -> None:
    """The files of a run are written to `folder`; `report` is what they were written from. Called once a session that
    ran a cell, also where it was interrupted (`report.planned` is then more than its records)::

        def pytest_needlework_written(config, report, folder):
            rows = [f"{panel.name}\t{panel.overall.mean}\t{panel.overall.n}" for panel in report.panels]
            (folder / "scores.tsv").write_text("\\n".join(rows) + "\\n", encoding="utf-8")
    """
