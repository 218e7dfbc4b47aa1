"""Cells that run after those that were collected: `--top-up` has some, `--adaptive` names all. In one process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from needlework.core.grid import Cell
from needlework.pytest_plugin.run_state import run_state
from needlework.pytest_plugin.workers import cell_of, has_workers, is_worker


class Further:
    """Runs further cells when those before have ended.

    `option` asked for them; `order` puts them in the order in which they are asked. `all_named`: the collected cells
    only say where further ones may be asked.
    """

    def __init__(self, order: Callable[[Sequence[Cell]], list[Cell]], option: str, *, all_named: bool) -> None:
        self._order = order
        self._option = option
        self._all_named = all_named

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if has_workers(session.config) or is_worker(session.config):
            raise pytest.UsageError(f"{self._option}: decides in one process what is asked next: leave out -n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        collected = session.items
        if session.config.option.collectonly:
            return (yield)
        if self._all_named:
            session.items = [item for item in collected if cell_of(item) is None]
            session.testscollected = len(session.items)
        try:
            done = yield
        finally:
            session.items = collected
        while cells := session.config.hook.pytest_needlework_more_cells(config=session.config):
            self._run(session, self._order(cells))
        return done

    def _run(self, session: pytest.Session, cells: Sequence[Cell]) -> None:
        items = make_items(session.items, cells)
        run_state(session.config).queue.announce(cells)
        for item, following in zip(items, [*items[1:], None], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)


def make_items(collected: Sequence[pytest.Item], cells: Sequence[Cell]) -> list[pytest.Item]:
    """Make the tests of these cells, as collecting would have made them, in the order of the cells."""
    tests: dict[str, dict[tuple[Any, str], None]] = {}  # of each cell, whatever its repeat
    for item in collected:
        if (cell := cell_of(item)) is not None:
            test: Any = item
            tests.setdefault(_first_repeat(cell), {})[test.parent, test.originalname] = None
    cells_of: dict[tuple[Any, str], list[Cell]] = {}
    for cell in cells:
        for test in tests.get(_first_repeat(cell), ()):
            cells_of.setdefault(test, []).append(cell)
    made: list[tuple[Cell, pytest.Item]] = []
    for (parent, name), test_cells in cells_of.items():
        state = run_state(parent.config)
        state.cells_in_making = test_cells
        try:
            items = parent.ihook.pytest_pycollect_makeitem(collector=parent, name=name, obj=getattr(parent.obj, name))
        finally:
            state.cells_in_making = None
        made += [(cell, item) for item in items or () if (cell := cell_of(item)) is not None]
    order = {cell: index for index, cell in enumerate(cells)}
    return [item for _, item in sorted(made, key=lambda pair: order[pair[0]])]


def _first_repeat(cell: Cell) -> str:
    return replace(cell, repeat=0).id
