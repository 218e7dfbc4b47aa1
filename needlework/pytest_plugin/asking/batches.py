"""`--batch-out`: requests are written in place of being asked. `--batch-in`: cells that a file answers are run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.settings import Settings
from needlework.models.specs import parse_spec
from needlework.pipeline.engine import Engine
from needlework.pytest_plugin.asking.state import engine_of, grid_of, settings_of
from needlework.pytest_plugin.workers import distribution
from needlework.pytest_plugin.workers.top_up import cell_of

if TYPE_CHECKING:
    from needlework.models.served.batch_files import AnswerFiles


WRITTEN = pytest.StashKey[list[Path]]()
"""The files of `--batch-out`, once they are written."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if config.getoption("batch_out") or config.getoption("batch_in"):
        distribution.use_one_process(config)  # files are written by one, and read without waiting


def pytest_configure(config: pytest.Config) -> None:
    try:
        _check(settings_of(config))
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


def _check(settings: Settings) -> None:
    option = "--batch-out" if settings.batch_out else "--batch-in" if settings.batch_in else ""
    if not option:
        return
    if settings.batch_out and settings.batch_in:
        raise InputError("--batch-in", settings.batch_in[0], "first write requests, then read answers: give one option")
    for spec in settings.model:
        if parse_spec(spec).kind != "openai":
            raise InputError("--model", spec, f"a batch service is asked as openai:NAME: leave {option} out")
    if settings.stability:
        raise InputError("--stability", settings.stability, f"no batch service asks again: leave it or {option} out")
    if settings.shard:
        raise InputError("--shard", settings.shard, f"--batch-limits parts a batch: leave it or {option} out")
    if settings.top_up:
        raise InputError("--top-up", settings.top_up, f"a batch is written at once: leave it or {option} out")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    config = session.config
    settings = settings_of(config)
    if settings.plan or session.testsfailed or not (settings.batch_out or settings.batch_in):
        return None
    engine = engine_of(config)
    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    try:
        if settings.batch_out:
            return _write(session, engine, [cell for cell in cells if _unanswered(config, engine, cell)])
        if cells and engine.answers is not None:
            _leave_out_unanswered(session, engine, engine.answers)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    return None


def _unanswered(config: pytest.Config, engine: Engine, cell: Cell) -> bool:
    return config.hook.pytest_cell_stored(config=config, key=engine.key(cell)) is None


def _write(session: pytest.Session, engine: Engine, cells: list[Cell]) -> bool:
    from needlework.pipeline.batch_requests import write_requests, written_lines

    written = write_requests(engine, cells)
    for line in written_lines(written):
        _tell(session, line, red="no prompt" in line)
    session.config.stash[WRITTEN] = written.files
    session.testsfailed += len(written.failed)
    return True


def _leave_out_unanswered(session: pytest.Session, engine: Engine, answers: AnswerFiles) -> None:
    """Cells that no line answers are left for a further batch: the run has not come to them."""
    from needlework.models.served.batch_files import cell_id

    known = {cell_id(cell) for series in grid_of(session.config) for cell in series.cells}
    unknown = answers.unknown(known)
    asked: list[pytest.Item] = []
    left = 0
    for item in session.items:
        cell = cell_of(item)
        if cell is None or answers.has_cell(cell_id(cell)) or not _unanswered(session.config, engine, cell):
            asked.append(item)
        else:
            left += 1
    for line in _told(answers, unknown):
        _tell(session, line, yellow=True)
    if not any(cell_of(item) is not None for item in asked):
        shown = f"none of their {answers.lines:,} lines answers a cell of this run"
        raise InputError(
            "--batch-in", engine.settings.batch_in[0], f"{shown}: is it the answer to another --batch-out?"
        )
    if left:
        _tell(
            session, f"batch-in: {left:,} of {len(session.items):,} cells have no answer yet: --batch-out writes them"
        )
    session.items[:] = asked


def _told(answers: AnswerFiles, unknown: list[str]) -> Iterator[str]:
    if answers.spoilt:
        yield f"batch-in: {answers.spoilt:,} of {answers.lines:,} lines cannot be read (no JSON, or no custom_id)"
    if unknown:
        yield f"batch-in: {len(unknown):,} answers are to no request of this run, such as {unknown[0][:80]!r}"
    if answers.contradicted:
        count, first = len(answers.contradicted), min(answers.contradicted)
        yield f"batch-in: {count:,} requests have several different answers, the first counts: {first}"


def _tell(session: pytest.Session, line: str, **colour: bool) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, pytest.TerminalReporter):
        reporter.write_line(line, **{name: on for name, on in colour.items() if on})
