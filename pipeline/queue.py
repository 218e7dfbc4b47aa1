"""The queue of a run's cells: requests are sent ahead of their tests, in order."""

import threading
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Generic, TypeVar

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.models.event_loop import event_loop
from needlework.models.model import BatchModel
from needlework.models.specs import allows_threads, is_served, runs_here
from needlework.pipeline.ask import ask, ask_many, exchange_of, probe, probed_cells, start_asking, unchanged
from needlework.pipeline.engine import Engine
from needlework.pipeline.exchange import OTHER_SERVER, Exchange, StoredAnswer, recorded_repeats, recorded_response

_MOST_UNREAD_TOKENS = 2_000_000  # of cells whose answers wait, in all processes: some tens of megabytes
_QUEUED = 4  # requests beyond twice the concurrency that wait for the rate limiter: prompts may be of megabytes


class Queue:
    """Gives a test the exchange of its cell. One per process.

    Served models: requests of later cells are in flight while a test waits for its own. Local models: cells are asked
    in batches, so that the model computes shared prefixes once. Prompts are built when they are needed.

    `stored`: returns the stored answer of a resume key. Called with an exchange that is ready before its
    test: `on_answer`, if it was asked now, in the thread that received it; `on_ready`, stored ones too, where judges
    score before tests.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        stored: Callable[[str], StoredAnswer | None] = lambda _key: None,
        on_answer: Callable[[Exchange], None] = lambda _exchange: None,
        on_ready: Callable[[Exchange], None] = lambda _exchange: None,
    ) -> None:
        self._engine, self._stored, self._on_answer, self._on_ready = engine, stored, on_answer, on_ready
        settings = engine.settings
        width = max(1, settings.concurrency // engine.workers)
        self._prefetches_scores = engine.judged_at_once > 1
        self.look_ahead = LookAhead(
            self._start,
            width,
            is_needed=self._is_prefetched,
            queued=width + _QUEUED if all(map(is_served, settings.model)) else 0,
            size=lambda cell: cell.length,
            room=_MOST_UNREAD_TOKENS // engine.workers,
        )
        self._announced: set[Cell] = set()
        self._local_cells: dict[str, deque[Cell]] = {}
        self._batch_answers: dict[Cell, Exchange] = {}
        self._of_other_server: set[Cell] = set()
        cells = (cell for series in engine.series() for cell in series.cells)
        self._probed = probed_cells(cells, settings.stability, settings.seed)

    def announce(self, cells: Iterable[Cell]) -> None:
        """Add cells that will be asked, in that order; known ones are skipped."""
        for cell in cells:
            if cell in self._announced:
                continue
            self._announced.add(cell)
            is_local = runs_here(self._engine.spec(cell))
            if is_local:
                self._local_cells.setdefault(cell.model, deque()).append(cell)
            if self._prefetches_scores or not is_local:
                self.look_ahead.extend([cell])

    def exchange(self, cell: Cell) -> Exchange:
        """The exchange of a cell: stored, sent ahead, or asked now. Waits for the answer."""
        self._announced.add(cell)
        if self.look_ahead.has_started(cell) or self._is_prefetched(cell):
            exchange = self.look_ahead.take(cell)
        elif (stored := self._stored_answer(cell)) is not None:
            return self._replay(cell, stored)
        elif runs_here(self._engine.spec(cell)):
            exchange = self._take_from_batch(cell)
        else:
            exchange = ask(self._engine, cell)
        if cell in self._of_other_server:
            exchange = replace(exchange, flags=(*exchange.flags, OTHER_SERVER))
        return probe(self._engine, exchange, self._probed) if cell in self._probed else exchange

    def close(self) -> None:
        """Send no further request; those in flight may still be answered."""
        self.look_ahead.close()
        self._engine.stop()

    def _is_prefetched(self, cell: Cell) -> bool:
        """Whether this cell's exchange is made before its test: for its answer, or for its judges."""
        if self._stored_answer(cell) is not None:
            return self._prefetches_scores
        spec = self._engine.spec(cell)
        return self._sends_ahead(spec) or (self._prefetches_scores and allows_threads(spec))

    def _sends_ahead(self, spec: str) -> bool:
        settings = self._engine.settings
        is_slow = is_served(spec) or spec.startswith("mock:sleep")
        return is_slow and settings.concurrency > 1 and not settings.batch_in

    def _start(self, cell: Cell) -> Coroutine[Any, Any, Exchange]:
        """Prepare a cell; returns a coroutine to run on the event loop."""
        if (stored := self._stored_answer(cell)) is not None:
            exchange = self._replay(cell, stored)
            self._on_ready(exchange)
        elif self._sends_ahead(self._engine.spec(cell)):
            return self._ask_and_report(start_asking(self._engine, cell))
        else:
            exchange = self._report(ask(self._engine, cell))
        return unchanged(exchange)

    async def _ask_and_report(self, asking: Coroutine[Any, Any, Exchange]) -> Exchange:
        return self._report(await asking)

    def _report(self, exchange: Exchange) -> Exchange:
        self._on_answer(exchange)
        if self._prefetches_scores:
            self._on_ready(exchange)
        return exchange

    def _take_from_batch(self, cell: Cell) -> Exchange:
        """The exchange of a local model's cell, asked together with those that come next."""
        if cell not in self._batch_answers:
            batch, size = [cell], self._batch_size(cell)
            coming = self._local_cells.get(cell.model, deque())
            if cell in coming:  # drop those before it: their tests did not run
                while coming.popleft() != cell:
                    pass
            while coming and len(batch) < size:
                following = coming.popleft()
                if following not in self._batch_answers and self._stored_answer(following) is None:
                    batch.append(following)
            for exchange in ask_many(self._engine, batch):
                self._batch_answers[exchange.cell] = self._report(exchange)
        return self._batch_answers.pop(cell)

    def _batch_size(self, cell: Cell) -> int:
        try:
            model = self._engine.model(cell)
        except InputError:
            return 1  # asking it reports the error
        if not isinstance(model, BatchModel):
            return 1
        return max(1, min(model.batch_size, model.batch_tokens // cell.length))

    def _stored_answer(self, cell: Cell) -> StoredAnswer | None:
        """The stored answer of a cell, unless it is of another server, or lacks a probe that is due."""
        stored = self._stored(self._engine.key(cell))
        if stored is not None and stored.record.response.server:
            # A server restarted with other options has the same address and another identity.
            now = self._engine.server(cell)
            if now and now != stored.record.response.server:
                self._of_other_server.add(cell)
                return None
        if stored is None or cell not in self._probed or stored.record.details.stability:
            return stored
        is_asked_twice = "follow_up" in stored.record.reference  # never probed
        return stored if is_asked_twice else None

    def _replay(self, cell: Cell, stored: StoredAnswer) -> Exchange:
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


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LookAhead(Generic[Key, Value]):
    """Prefetches answers in a fixed order.

    `start(key)` prepares a request on the thread that takes answers, and returns the coroutine that sends it on the
    event loop. At most `width` requests are in flight, and `queued` more wait for the rate limiter or a retry.
    At most 4 * `width` are started and not taken. While an answer is awaited, more are started as long as the `size`s
    of those that have come add up to less than `room`: one that hangs must not stop the others. A key for which
    `is_needed` is false when its turn comes is skipped.
    """

    def __init__(
        self,
        start: Callable[[Key], Coroutine[Any, Any, Value]],
        width: int,
        *,
        is_needed: Callable[[Key], bool] = lambda _key: True,
        queued: int = 0,
        size: Callable[[Key], int] = lambda _key: 0,
        room: int = 0,
    ) -> None:
        self._start, self._is_needed, self._size, self._room = start, is_needed, size, room
        self._most_running, self._most_unread = width + queued, 4 * width
        self._coming: deque[Key] = deque()
        self._started: set[Key] = set()  # also those taken since
        self._answers: dict[Key, Future[Value]] = {}
        self._changed = threading.Condition()
        self._is_done: Callable[[], bool] = lambda: True  # whether the answer that a test waits for has arrived

    def extend(self, keys: Iterable[Key]) -> None:
        """Append keys."""
        self._coming.extend(keys)

    def has_started(self, key: Key) -> bool:
        """Whether a key was started and not taken yet."""
        return key in self._answers

    def take(self, key: Key) -> Value:
        """The answer for `key`; waits for it. Unknown keys are started at once."""
        self.fill()
        if key not in self._answers:
            self._begin(key)
        answer = self._answers[key]
        self.fill_until(answer.done)
        del self._answers[key]
        return answer.result()

    def fill_until(self, is_done: Callable[[], bool]) -> None:
        """Start keys, as many as there is room for, until `is_done()`; whatever makes it true calls `wake`."""
        self._is_done = is_done
        while not is_done():
            self.fill()
            with self._changed:
                self._changed.wait_for(lambda: is_done() or self._may_start())
        self._is_done = lambda: True

    def wake(self) -> None:
        """Let `fill_until` evaluate `is_done` again. Thread-safe."""
        with self._changed:
            self._changed.notify_all()

    def fill(self) -> None:
        """Start keys, as many as there is room for."""
        while self._may_start():
            key = self._coming.popleft()
            if key not in self._started and self._is_needed(key):
                self._begin(key)

    def close(self) -> None:
        """Start no further key; requests in flight end by themselves, or with the process."""
        self._coming.clear()

    def _may_start(self) -> bool:
        come = [key for key, answer in self._answers.items() if answer.done()]
        if not self._coming or len(self._answers) - len(come) >= self._most_running:
            return False
        has_room = not self._is_done() and sum(map(self._size, come)) < self._room
        return has_room or len(self._answers) < self._most_unread

    def _begin(self, key: Key) -> None:
        self._started.add(key)
        try:
            self._answers[key] = event_loop().submit(self._start(key))
        except Exception as error:  # noqa: BLE001 - raised again by `take`
            self._answers[key] = Future()
            self._answers[key].set_exception(error)
        self._answers[key].add_done_callback(lambda _answer: self.wake())
