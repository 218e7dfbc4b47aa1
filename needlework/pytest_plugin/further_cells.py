"""Cells that run after those that were collected: `--top-up` has some, `--adaptive` names all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, SupportsIndex, overload

import pytest

from needlework.core.grid import Cell
from needlework.pytest_plugin.run_state import run_state
from needlework.pytest_plugin.workers import has_workers, is_worker


class Further:
    """Runs further cells in one process. Under workers `scheduling` sends them out, and what is here lets a worker have
    items that it has not collected.

    `start` announces cells to the engine, in the order they are asked. `option` asked for them. `all_named`: the
    collected cells only say where further ones may be asked.
    """

    def __init__(
        self,
        start: Callable[[Sequence[Cell]], None],
        order: Callable[[Sequence[Cell]], list[Cell]],
        option: str,
        all_named: bool = False,
    ) -> None:
        self._start = start
        self._order = order
        self._option = option
        self.all_named = all_named

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        config = session.config
        if has_workers(config) and config.getvalue("dist") != "load":
            raise pytest.UsageError(f"{self._option}: needs --dist load, the default, not {config.getvalue('dist')}")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if is_worker(session.config):
            session.items = ItemsAndFurther(session)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        return True if isinstance(item, Pause) else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        config, collected = session.config, session.items
        alone = not (is_worker(config) or has_workers(config) or config.option.collectonly)
        if alone and self.all_named:
            session.items = [item for item in collected if cell_of(item) is None]
            session.testscollected = len(session.items)
        try:
            done = yield
        finally:
            session.items = collected
        if not alone:
            return done
        while cells := run_state(config).more_cells():
            _run(session, self._start, self._order(cells))
        return done


def _run(session: pytest.Session, start: Callable[[Sequence[Cell]], None], cells: Sequence[Cell]) -> None:
    items = make_items(session.items, cells)
    start(cells)
    for item, following in zip(items, [*items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


# Every process of a run can number them alike without knowing which will be wanted. With `n` collected items, place `n`
# is a pause, and place `n + 1 + repeat * n + i` stands for item `i` with that repeat.


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell that a test item stands for."""
    callspec = getattr(item, "callspec", None)
    cell = callspec.params.get("cell") if callspec is not None else None
    return cell if isinstance(cell, Cell) else None


def at_first_repeat(cell: Cell) -> str:
    """The id that all repeats of a cell share."""
    return replace(cell, repeat=0).id


def place_of(twin: int, repeat: int, collected: int) -> int:
    """The place of collected item `twin` with another repeat."""
    return collected + 1 + repeat * collected + twin


def twins_by_cell(cells: Iterable[tuple[int, Cell]]) -> Mapping[str, list[int]]:
    """The items that ask a cell, by `at_first_repeat`; of several repeats the one that was collected first."""
    found: dict[str, dict[int, list[int]]] = {}
    for place, cell in cells:
        found.setdefault(at_first_repeat(cell), {}).setdefault(cell.repeat, []).append(place)
    return {cell: next(iter(repeats.values())) for cell, repeats in found.items()}


def make_items(collected: Sequence[pytest.Item], cells: Sequence[Cell]) -> list[pytest.Item]:
    """Make the tests of these cells, as collecting would have made them, in the order of the cells."""
    twins = twins_by_cell((i, cell) for i, item in enumerate(collected) if (cell := cell_of(item)) is not None)
    wanted: dict[tuple[pytest.Collector, str], list[Cell]] = {}
    for cell in cells:
        for place in twins.get(at_first_repeat(cell), ()):
            twin: Any = collected[place]
            wanted.setdefault((twin.parent, twin.originalname), []).append(cell)
    made = [pair for (parent, name), found in wanted.items() for pair in _made(parent, name, found)]
    order = {cell: place for place, cell in enumerate(cells)}
    return [item for _, item in sorted(made, key=lambda pair: order[pair[0]])]


def _made(parent: Any, name: str, cells: Sequence[Cell]) -> list[tuple[Cell, pytest.Item]]:
    state = run_state(parent.config)
    state.cells_in_making = cells
    try:
        made = parent.ihook.pytest_pycollect_makeitem(collector=parent, name=name, obj=getattr(parent.obj, name))
    finally:
        state.cells_in_making = None
    return [(cell, item) for item in made or () if (cell := cell_of(item)) is not None]


class Pause(pytest.Item):
    """Runs nothing: a worker that has it next ends the test before, and then waits for word."""

    def runtest(self) -> None:
        """Never called: see `Further.pytest_runtest_protocol`."""

    def reportinfo(self) -> tuple[str, None, str]:
        return "", None, "pause"


class ItemsAndFurther(list[pytest.Item]):
    """The collected items; those at further places are made when they are asked for."""

    def __init__(self, session: pytest.Session) -> None:
        super().__init__(session.items)
        self._made: dict[int, pytest.Item] = {len(self): Pause.from_parent(session, name="pause")}

    @overload
    def __getitem__(self, place: SupportsIndex) -> pytest.Item: ...
    @overload
    def __getitem__(self, place: slice) -> list[pytest.Item]: ...
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice) or place < len(self):
            return super().__getitem__(place)
        if place not in self._made:
            repeat, twin = divmod(place - len(self) - 1, len(self))
            asked = cell_of(self[twin])
            if asked is None:
                raise IndexError(place)
            (self._made[place],) = make_items([self[twin]], [replace(asked, repeat=repeat)])
        return self._made[place]
