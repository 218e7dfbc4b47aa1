"""Cells beyond the run's repeats, run after all others, for as long as `pytest_top_up_cells` names some.

`--top-up` has such cells. Under `--adaptive` it names all: of what was collected no cell runs by itself.

In one process they are run here. Under workers `scheduling` sends them out, and what is here lets a worker have items
that it has not collected.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import pytest

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.workers import distribution
from needlework.haystack_fixtures.workers.top_up_items import ItemsAndFurther, Pause, cell_of, make_items


class Further:
    """`start` announces cells to the engine, in the order they are asked. `option` asked for them. `all_named`: the
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
        if distribution.has_workers(config) and config.getvalue("dist") != "load":
            raise pytest.UsageError(f"{self._option}: needs --dist load, the default, not {config.getvalue('dist')}")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if distribution.is_worker(session.config):
            session.items = ItemsAndFurther(session)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        return True if isinstance(item, Pause) else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        config, collected = session.config, session.items
        alone = not (distribution.is_worker(config) or distribution.has_workers(config) or config.option.collectonly)
        if alone and self.all_named:
            session.items = [item for item in collected if cell_of(item) is None]
            session.testscollected = len(session.items)
        try:
            done = yield
        finally:
            session.items = collected
        if not alone:
            return done
        while cells := config.hook.pytest_top_up_cells(config=config):
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
