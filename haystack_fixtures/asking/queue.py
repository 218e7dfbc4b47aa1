"""In what order cells are asked, how many at once, and which need not be asked again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any

from needlework.haystack_fixtures.asking.ask import ask, ask_many, begin
from needlework.haystack_fixtures.asking.batches import Batches
from needlework.haystack_fixtures.asking.engine import Engine
from needlework.haystack_fixtures.asking.look_ahead import LookAhead
from needlework.haystack_fixtures.asking.stability import probe, probed_cells
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import BatchModel
from needlework.haystack_fixtures.models.model_named import is_served, runs_here
from needlework.haystack_fixtures.trials.exchange import OTHER_SERVER, Exchange, StoredAnswer


class Queue:
    """Gives the exchange of a cell when its test asks for it. One per process.

    Served models: requests of the cells to come are in flight while one cell waits for its own. Local models: cells
    are handed over in batches, so that the model computes what they share once. Prompts are built as they are needed.

    `stored`: gives the answer for a key, if that trial has been answered before.
    `keep`: is given each answer that comes before its cell's turn, in the thread that reads it.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        stored: Callable[[str], StoredAnswer | None] = lambda _key: None,
        keep: Callable[[Exchange], None] = lambda _exchange: None,
    ) -> None:
        self._engine = engine
        self._stored = stored
        self._elsewhere: set[Cell] = set()
        self._keep = keep
        self._announced: set[Cell] = set()
        self._ahead: dict[str, LookAhead[Cell, Exchange] | Batches[Cell, Exchange]] = {}
        settings = engine.settings
        cells = (cell for series in engine.series() for cell in series.cells)
        self._probed = probed_cells(cells, settings.stability, settings.seed)
        engine.tell_of_pauses(self._pausing)

    def announce(self, cells: Iterable[Cell]) -> None:
        """Say which cells will be asked, in that order; may be called again as more become known."""
        coming: dict[str, list[Cell]] = {}
        for cell in cells:
            if cell not in self._announced:
                self._announced.add(cell)
                coming.setdefault(cell.model, []).append(cell)
        for model, found in coming.items():
            ahead = self._ahead.get(model) or self._ahead_of(found[0])
            if ahead is not None:
                self._ahead[model] = ahead
                ahead.extend(found)

    def exchange(self, cell: Cell) -> Exchange:
        """Ask one cell, or wait for its answer if it was asked ahead, or take the one that is stored."""
        self._announced.add(cell)
        stored = self._answered(cell)
        if stored is not None:
            return self._replayed(cell, stored)
        ahead = self._ahead.get(cell.model)
        exchange = ask(self._engine, cell) if ahead is None else ahead.take(cell)
        self._engine.forget_key(cell)
        if cell in self._elsewhere:
            exchange = replace(exchange, flags=(*exchange.flags, OTHER_SERVER))
        return probe(self._engine, exchange, self._probed) if cell in self._probed else exchange

    def _ahead_of(self, cell: Cell) -> LookAhead[Cell, Exchange] | Batches[Cell, Exchange] | None:
        spec, concurrency = self._engine.series_of(cell).model, self._engine.settings.concurrency
        if runs_here(spec):
            return Batches(self._ask_batch, self._batch_size, self._wanted)
        served = is_served(spec)
        if self._engine.settings.batch_in:
            return None  # nobody is asked
        if concurrency > 1 and (served or spec.startswith("mock:sleep")):
            width = max(1, concurrency // self._engine.workers)
            return LookAhead((), self._ask_ahead, width, self._wanted, spare=width if served else 0, queue=served)
        return None

    def _ask_ahead(self, cell: Cell) -> Callable[[], Coroutine[Any, Any, Exchange]]:
        rest = begin(self._engine, cell)

        async def kept() -> Exchange:
            exchange = await rest()
            self._keep(exchange)
            return exchange

        return kept

    def _pausing(self, change: int) -> None:
        for ahead in tuple(self._ahead.values()):
            if isinstance(ahead, LookAhead):
                ahead.pausing(change)

    def _ask_batch(self, cells: Sequence[Cell]) -> list[Exchange]:
        exchanges = ask_many(self._engine, cells)
        for exchange in exchanges:
            self._keep(exchange)
        return exchanges

    def _batch_size(self, cell: Cell) -> int:
        try:
            model = self._engine.model(cell)
        except InputError:
            return 1  # told by the cell itself
        if not isinstance(model, BatchModel):
            return 1
        return max(1, min(model.batch_size, model.batch_tokens // cell.length))

    def _wanted(self, cell: Cell) -> bool:
        return self._answered(cell) is None

    def _answered(self, cell: Cell) -> StoredAnswer | None:
        """The stored answer of a cell; one of another server is none, and one that is to be probed and was not."""
        stored = self._stored(self._engine.key(cell))
        if stored is not None and stored.response.server:
            # A server that was started again in another way has the same address, and other answers.
            now = self._engine.server(cell)
            if now and now != stored.response.server:
                self._elsewhere.add(cell)
                stored = None
        if stored is None or cell not in self._probed or stored.again:
            return stored
        asked_twice = "follow_up" in stored.reference  # such answers are never probed
        return stored if asked_twice else None

    def _replayed(self, cell: Cell, stored: StoredAnswer) -> Exchange:
        engine, series = self._engine, self._engine.series_of(cell)
        key = engine.key(cell)
        engine.forget_key(cell)
        return Exchange(
            cell,
            series.suite,
            series.model,
            key,
            stored.response,
            scorer=engine.scorer(cell),
            question=stored.question,
            reference=stored.reference,
            stored_prompt=stored.prompt,
            flags=stored.flags,
            build_s=stored.build_s,
            seed=engine.settings.seed,
            replayed=stored.scored,
            again=stored.again,
            judging=engine.judging(cell),
            scored_before=stored.score,
        )

    def close(self) -> None:
        """Begin no further request."""
        for ahead in self._ahead.values():
            if isinstance(ahead, LookAhead):
                ahead.close()
