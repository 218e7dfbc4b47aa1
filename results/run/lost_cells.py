"""The record of a cell of which only its test's name came back: its worker died, or a fixture failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from needlework.haystack_fixtures.grid.cells import Cell, parse_id
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.results.records.record import Record
from needlework.results.run.making_records.make_record import lost_record


def lost_cell(report: pytest.TestReport, grid: Iterable[Series], *, recipe: str, seed: int) -> Record | None:
    """An error that names the cell, so that it does not vanish; `None` where the test has no cell."""
    named = parse_id(report.nodeid)
    if named is None:
        return None
    wanted = (named.task, named.needle, named.model)
    series = next((each for each in grid if _first(each) == wanted), None)
    cell = _exact(named, series)
    message = str(report.longrepr).strip().splitlines()[-1:] or ["the process died"]
    return lost_record(
        cell,
        model=series.model if series else cell.model,
        nodeid=report.nodeid,
        recipe=recipe,
        message=message[0][:300],
        language=series.suite.language if series else "",
        seed=seed,
    )


def _first(series: Series) -> tuple[str, str, str]:
    first = series.cells[0]
    return first.task, first.needle, first.model


def _exact(named: Cell, series: Series | None) -> Cell:
    """The cell that an id stands for; the id has the depth in three decimals only."""
    cells = series.cells if series else ()
    at = next((cell for cell in cells if replace(cell, repeat=named.repeat).id == named.id), named)
    return replace(at, repeat=named.repeat)
