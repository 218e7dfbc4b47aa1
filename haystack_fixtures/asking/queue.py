"""In what order cells are asked, how many at once, and which need not be asked again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any

from needlework.haystack_fixtures.asking.ask import ask, ask_many, begin, known
from needlework.haystack_fixtures.asking.batches import Batches
from needlework.haystack_fixtures.asking.engine import Engine
from needlework.haystack_fixtures.asking.look_ahead import LookAhead, go_on
from needlework.haystack_fixtures.asking.stability import probe, probed_cells
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import BatchModel
from needlework.haystack_fixtures.models.model_named import is_served, runs_here
from needlework.haystack_fixtures.trials.exchange import OTHER_SERVER, Exchange, StoredAnswer

_HELD = 2_000_000  # tokens of prompts whose answers wait for their test, in all processes: some tens of megabytes
_BESIDE = 500  # what an exchange takes beside its prompt is as much as so many tokens


class Queue:
    """Gives the exchange of a cell when its test asks for it. One per process.

    Served models: requests of the cells to come are in flight while one cell waits for its own. Local models: cells
    are handed over in batches, so that the model computes what they share once. Prompts are built as they are needed.

    `stored`: gives the answer for a key, if that trial has been answered before.
    `keep`: is given each answer that comes before its cell's turn, in the thread that reads it. `waits`: is given each
    exchange that is there before its turn, with a stored answer too, where judges may be asked ahead.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        stored: Callable[[str], StoredAnswer | None] = lambda _key: None,
        keep: Callable[[Exchange], None] = lambda _exchange: None,
        waits: Callable[[Exchange], None] = lambda _exchange: None,
    ) -> None:
        self._engine = engine
        self._stored = stored
        self._elsewhere: set[Cell] = set()
        self._keep = keep
        self._waits = waits
        self._width = max(1, engine.settings.concurrency // engine.workers)
        self._judged_ahead = engine.judged_at_once > 1
        self._room = _HELD // engine.workers
        self._replays = LookAhead[Cell, Exchange](
            (), self._replay_ahead, self._width, self._is_stored, size=_size, room=self._room
        )
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
                if self._judged_ahead:
                    self._replays.extend((cell,))
                coming.setdefault(cell.model, []).append(cell)
        for model, found in coming.items():
            ahead = self._ahead.get(model) or self._ahead_of(found[0])
            if ahead is not None:
                self._ahead[model] = ahead
                ahead.extend(found)

    def exchange(self, cell: Cell) -> Exchange:
        """Ask one cell, or wait for its answer if it was asked ahead, or take the one that is stored."""
        self._announced.add(cell)
        ahead = self._ahead.get(cell.model)
        begun = isinstance(ahead, LookAhead) and ahead.has_begun(cell)  # because no answer was stored
        stored = None if begun else self._answered(cell)
        if stored is not None:
            exchange = self._replays.take(cell) if self._judged_ahead else self._replayed(cell, stored)
            self._engine.forget_key(cell)
            return exchange
        exchange = ask(self._engine, cell) if ahead is None else ahead.take(cell)
        self._engine.forget_key(cell)
        if cell in self._elsewhere:
            exchange = replace(exchange, flags=(*exchange.flags, OTHER_SERVER))
        return probe(self._engine, exchange, self._probed) if cell in self._probed else exchange

    def go_on(self, unless: Callable[[], bool]) -> None:
        """Ask further cells while a test waits for something else than its answer, `unless` it is there: its judges
        would else stop all that is asked. Who makes it come calls the reader's `pause`.
        """
        go_on([self._replays, *(ahead for ahead in self._ahead.values() if isinstance(ahead, LookAhead))], unless)

    def _ahead_of(self, cell: Cell) -> LookAhead[Cell, Exchange] | Batches[Cell, Exchange] | None:
        spec, settings, width = self._engine.series_of(cell).model, self._engine.settings, self._width
        if runs_here(spec):
            return Batches(self._ask_batch, self._batch_size, self._wanted)
        served = is_served(spec)
        if settings.concurrency > 1 and (served or spec.startswith("mock:sleep")) and not settings.batch_in:
            return LookAhead(
                (),
                self._ask_ahead,
                width,
                self._wanted,
                spare=width if served else 0,
                queue=served,
                size=_size,
                room=self._room,
            )
        if self._judged_ahead and (settings.batch_in or spec.startswith("mock:")):
            return LookAhead((), self._answer_ahead, width, self._wanted)  # it is there at once, its score is not
        return None

    def _ask_ahead(self, cell: Cell) -> Callable[[], Coroutine[Any, Any, Exchange]]:
        rest = begin(self._engine, cell)

        async def kept() -> Exchange:
            return self._kept(await rest())

        return kept

    def _answer_ahead(self, cell: Cell) -> Callable[[], Coroutine[Any, Any, Exchange]]:
        exchange = self._kept(ask(self._engine, cell))
        return lambda: known(exchange)

    def _replay_ahead(self, cell: Cell) -> Callable[[], Coroutine[Any, Any, Exchange]]:
        stored = self._answered(cell)
        if stored is None:
            raise LookupError(f"{cell.id} has no stored answer")
        exchange = self._replayed(cell, stored)
        self._waits(exchange)
        return lambda: known(exchange)

    def _kept(self, exchange: Exchange) -> Exchange:
        self._keep(exchange)
        if self._judged_ahead:
            self._waits(exchange)
        return exchange

    def _pausing(self, change: int) -> None:
        for ahead in tuple(self._ahead.values()):
            if isinstance(ahead, LookAhead):
                ahead.pausing(change)

    def _ask_batch(self, cells: Sequence[Cell]) -> list[Exchange]:
        return [self._kept(exchange) for exchange in ask_many(self._engine, cells)]

    def _batch_size(self, cell: Cell) -> int:
        try:
            model = self._engine.model(cell)
        except InputError:
            return 1  # told by the cell itself
        if not isinstance(model, BatchModel):
            return 1
        return max(1, min(model.batch_size, model.batch_tokens // cell.length))

    def _wanted(self, cell: Cell) -> bool:
        return not self._is_stored(cell)

    def _is_stored(self, cell: Cell) -> bool:
        return self._answered(cell) is not None

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
        return Exchange(
            cell,
            series.suite,
            series.model,
            engine.key(cell),
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
        """Send no further request; those in flight may still be answered."""
        for ahead in self._ahead.values():
            if isinstance(ahead, LookAhead):
                ahead.close()
        self._engine.stop()


def _size(exchange: Exchange) -> int:
    """How much an exchange takes until its test lets go of it, in tokens."""
    return _BESIDE + (exchange.trial.prompt.tokens if exchange.trial else 0)
