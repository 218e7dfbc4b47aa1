"""Cells that are asked ahead, in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.models.event_loop import event_loop
from needlework.models.model import BatchModel
from needlework.models.specs import is_served, runs_here
from needlework.pipeline.ask import ask, ask_many, begin, exchange_of, known, probe, probed_cells
from needlework.pipeline.engine import Engine
from needlework.pipeline.exchange import OTHER_SERVER, Exchange, StoredAnswer, recorded_repeats, recorded_response
from needlework.pipeline.window import Batches

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
        self._of_other_server: set[Cell] = set()
        self._keep = keep
        self._waits = waits
        self._width = max(1, engine.settings.concurrency // engine.workers)
        self._judged_ahead = engine.judged_at_once > 1
        self._room = _HELD // engine.workers
        self._changed = threading.Condition()
        self._look_ahead = partial(LookAhead[Cell, Exchange], (), width=self._width, changed=self._changed)
        self._replays = self._look_ahead(self._replay_ahead, wanted=self._is_stored, size=_size, room=self._room)
        self._announced: set[Cell] = set()
        self._ahead: dict[str, LookAhead[Cell, Exchange] | Batches[Cell, Exchange]] = {}
        settings = engine.settings
        cells = (cell for series in engine.series() for cell in series.cells)
        self._probed = probed_cells(cells, settings.stability, settings.seed)

    def announce(self, cells: Iterable[Cell]) -> None:
        """Say which cells will be asked, in that order; may be called again as more become known."""
        coming: dict[str, list[Cell]] = {}
        for cell in cells:
            if cell not in self._announced:
                self._announced.add(cell)
                if self._judged_ahead:
                    self._replays.extend((cell,))
                coming.setdefault(cell.model, []).append(cell)
        for model, cells_of_model in coming.items():
            ahead = self._ahead.get(model) or self._ahead_of(cells_of_model[0])
            if ahead is not None:
                self._ahead[model] = ahead
                ahead.extend(cells_of_model)

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
        if cell in self._of_other_server:
            exchange = replace(exchange, flags=(*exchange.flags, OTHER_SERVER))
        return probe(self._engine, exchange, self._probed) if cell in self._probed else exchange

    def go_on(self, unless: Callable[[], bool]) -> None:
        """Ask further cells while a test waits for something else than its answer, `unless` it is there: its judges
        would else stop all that is asked. Who makes it come calls `wake`.
        """
        several = [self._replays, *(ahead for ahead in self._ahead.values() if isinstance(ahead, LookAhead))]
        for ahead in several:
            ahead.is_waited_beside(True)
        while not unless():
            for ahead in several:
                ahead.fill()
            with self._changed:
                self._changed.wait_for(lambda: unless() or any(ahead.may_begin for ahead in several))
        for ahead in several:
            ahead.is_waited_beside(False)

    def wake(self) -> None:
        """Let who waits in `go_on` look again. From any thread."""
        with self._changed:
            self._changed.notify_all()

    def _ahead_of(self, cell: Cell) -> LookAhead[Cell, Exchange] | Batches[Cell, Exchange] | None:
        spec, settings = self._engine.series_of(cell).model, self._engine.settings
        if runs_here(spec):
            return Batches(self._ask_batch, self._batch_size, self._wanted)
        served = is_served(spec)
        if settings.concurrency > 1 and (served or spec.startswith("mock:sleep")) and not settings.batch_in:
            queued = self._width + _QUEUED if served else 0
            return self._look_ahead(self._ask_ahead, wanted=self._wanted, queued=queued, size=_size, room=self._room)
        if self._judged_ahead and (settings.batch_in or spec.startswith("mock:")):
            # Its answer is there at once, its score is not.
            return self._look_ahead(self._answer_ahead, wanted=self._wanted)
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
        assert stored is not None
        exchange = self._replayed(cell, stored)
        self._waits(exchange)
        return lambda: known(exchange)

    def _kept(self, exchange: Exchange) -> Exchange:
        self._keep(exchange)
        if self._judged_ahead:
            self._waits(exchange)
        return exchange

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
        if stored is not None and stored.record.response.server:
            # A server that was started again in another way has the same address, and other answers.
            now = self._engine.server(cell)
            if now and now != stored.record.response.server:
                self._of_other_server.add(cell)
                stored = None
        if stored is None or cell not in self._probed or stored.record.details.stability:
            return stored
        asked_twice = "follow_up" in stored.record.reference  # such answers are never probed
        return stored if asked_twice else None

    def _replayed(self, cell: Cell, stored: StoredAnswer) -> Exchange:
        record = stored.record
        return exchange_of(
            self._engine,
            cell,
            recorded_response(record),
            question=record.question,
            reference=record.reference,
            stored_prompt=record.prompt,
            flags=tuple(record.details.flags),
            build_s=record.timing.build_s,
            replayed=stored.replayed,
            again=recorded_repeats(record),
            scored_before=stored.scored,
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


Key = TypeVar("Key")
Value = TypeVar("Value")

_QUEUED = 4  # beyond twice the width that wait for a place of the server's: prompts may be of megabytes


class LookAhead(Generic[Key, Value]):
    """Answers asked for in a known order, worked out ahead of time.

    `begin` makes ready what is asked for a key and returns the rest of the work. Who takes answers begins keys first,
    in their order, as long as there is room: what needs the processor and no server would only wait for its turn in a
    thread of its own. The rest runs in the event loop. Neither may raise.

    At most `width` keys are being worked on at once, and so many `queued` ones that may wait for a place of their own,
    or pause before they are tried again. At most four times `width` are begun and not yet read, so that memory stays
    bounded however many there are. While a slow answer is waited for it may be more, as long as what has come adds up
    to less than `room`, each of the `size` that it is said to have: one that hangs would else stop them all. Keys that
    are not `wanted` when their turn comes are left out.
    """

    def __init__(
        self,
        order: Sequence[Key],
        begin: Callable[[Key], Callable[[], Coroutine[Any, Any, Value]]],
        width: int,
        wanted: Callable[[Key], bool] = lambda _key: True,
        *,
        queued: int = 0,
        size: Callable[[Value], int] = lambda _value: 0,
        room: int = 0,
        changed: threading.Condition | None = None,
    ) -> None:
        """`changed`: is notified when who takes answers can go on; several that are filled together share one."""
        self._order = list(order)
        self._begin_one = begin
        self._wanted = wanted
        self._next = 0
        self._width, self._queued = width, queued
        self._awaited: dict[Key, _PendingAnswer[Value]] = {}
        self._early: set[Key] = set()
        self._sought: _PendingAnswer[Value] | None = None  # what is waited for
        self._changed = changed or threading.Condition()  # its lock is for the counts
        self._working = 0
        self._size, self._room, self._held = size, room, 0
        self._closed = False

    def extend(self, keys: Iterable[Key]) -> None:
        """Announce further keys, after those that are in the order already."""
        self._order.extend(keys)

    def has_begun(self, key: Key) -> bool:
        """Whether a key is worked on, and not taken yet."""
        return key in self._awaited

    def take(self, key: Key) -> Value:
        """The answer for `key`; waits for it. Keys that were not in the order are worked on at once."""
        self.fill()
        if key not in self._awaited:
            self._early.add(key)
            self._begin(key)
        answer = self._sought = self._awaited[key]
        while not answer.has_come:
            self.fill()
            with self._changed:
                self._changed.wait_for(lambda: answer.has_come or self.may_begin)
        self._sought = None
        del self._awaited[key]
        with self._changed:
            self._held -= answer.size
        return answer.result()

    def is_waited_beside(self, yes: bool) -> None:
        """Whether who takes answers waits for something else: as many may be held as while it waits for an answer."""
        self._sought = _PendingAnswer() if yes else None  # one that never comes

    def fill(self) -> None:
        """Begin keys, until there are enough."""
        while self.may_begin:
            key = self._order[self._next]
            self._next += 1
            if key not in self._early and self._wanted(key):
                self._begin(key)

    def _begin(self, key: Key) -> None:
        answer = self._awaited[key] = _PendingAnswer[Value]()
        try:
            rest = self._begin_one(key)
        except Exception as error:  # noqa: BLE001 - raised again where the answer is taken
            answer.come(partial(_raise, error))
            return
        with self._changed:
            self._working += 1
        event_loop().begin(self._work_out(answer, rest))

    @property
    def may_begin(self) -> bool:
        """Whether there is a key to begin, and room for it."""
        place = self._working < self._width + self._queued
        return place and self._next < len(self._order) and (len(self._awaited) < 4 * self._width or self._may_hold)

    @property
    def _may_hold(self) -> bool:
        """Whether more may wait than four times the width: there is nothing to take, and room."""
        return self._sought is not None and not self._sought.has_come and self._held < self._room

    async def _work_out(self, answer: _PendingAnswer[Value], rest: Callable[[], Coroutine[Any, Any, Value]]) -> None:
        if self._closed:
            return
        try:
            value = await rest()
            answer.size = self._size(value)
            result: Callable[[], Value] = lambda: value  # noqa: E731
        except BaseException as error:  # noqa: BLE001 - raised again where the answer is taken
            result = partial(_raise, error)
        with self._changed:
            self._held += answer.size
            self._working -= 1
            answer.come(result)
            if answer is self._sought or (self._sought is not None and self.may_begin):
                self._changed.notify_all()

    def close(self) -> None:
        """Drop what has not begun; what is in flight ends by itself, or with the process."""
        self._closed = True


class _PendingAnswer(Generic[Value]):
    """What the event loop works out. Less than a `Future`, and a tenth of its time."""

    __slots__ = ("has_come", "result", "size")

    def __init__(self) -> None:
        self.has_come = False
        self.size = 0
        self.result: Callable[[], Value]

    def come(self, result: Callable[[], Value]) -> None:
        self.result = result
        self.has_come = True


def _raise(error: BaseException) -> NoReturn:
    raise error
