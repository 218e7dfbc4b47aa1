"""Keep requests in flight while pytest runs one test at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar

from needlework.haystack_fixtures.models.reader import reader

Key = TypeVar("Key")
Value = TypeVar("Value")

_QUEUED = 4  # that wait for a place of the server's: prompts may be of megabytes


class LookAhead(Generic[Key, Value]):
    """Answers asked for in a known order, worked out ahead of time.

    `begin` makes ready what is asked for a key and returns the rest of the work. Who takes answers begins keys first,
    in their order, as long as there is room: what needs the processor and no server would only wait for its turn in a
    thread of its own. The rest runs in the reader. Neither may raise.

    At most `width` keys are being worked on at once, and a few more where they `queue` for a place of their own; for
    each that only pauses, as `pausing` is told, one of up to `spare` more takes its place. At most four times `width`
    are begun and not yet read, so that memory stays bounded however many there are. While a slow answer is waited for
    it may be more, as long as what has come adds up to less than `room`, each of the `size` that it is said to have:
    one that hangs would else stop them all. Keys that are not `wanted` when their turn comes are left out.
    """

    def __init__(
        self,
        order: Sequence[Key],
        begin: Callable[[Key], Callable[[], Coroutine[Any, Any, Value]]],
        width: int,
        wanted: Callable[[Key], bool] = lambda _key: True,
        *,
        spare: int = 0,
        queue: bool = False,
        size: Callable[[Value], int] = lambda _value: 0,
        room: int = 0,
    ) -> None:
        self._order = list(order)
        self._begin_one = begin
        self._wanted = wanted
        self._next = 0
        self._width, self._spare, self._queued = width, spare, _QUEUED * queue
        self._awaited: dict[Key, _Answer[Value]] = {}
        self._early: set[Key] = set()
        self._sought: _Answer[Value] | None = None  # what is waited for
        self._counting = threading.Lock()
        self._paused = self._working = 0
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
        many_wait = len(self._awaited) > 3 * self._width  # then many are begun in a row, which is faster
        if many_wait or not self.fill():
            reader().look()
        if key not in self._awaited:
            self._early.add(key)
            self._begin(key)
        answer = self._sought = self._awaited[key]
        while not answer.has_come:
            self.fill()
            reader().carry_on(unless=lambda: answer.has_come or self.may_begin)
        self._sought = None
        del self._awaited[key]
        with self._counting:
            self._held -= answer.size
        return answer.result()

    def is_waited_beside(self, yes: bool) -> None:
        """Whether who takes answers waits for something else: as many may be held as while it waits for an answer."""
        self._sought = _Answer() if yes else None  # one that never comes

    def pausing(self, change: int) -> None:
        """So many keys more, or less, pause before they go on."""
        with self._counting:
            self._paused += change
        self._tell_of_room()

    def fill(self) -> bool:
        """Begin keys, until there are enough; says whether there was one to begin."""
        some = False
        while self.may_begin:
            key = self._order[self._next]
            self._next += 1
            if key not in self._early and self._wanted(key):
                self._begin(key)
                some = True
        return some

    def _begin(self, key: Key) -> None:
        answer = self._awaited[key] = _Answer[Value]()
        try:
            rest = self._begin_one(key)
        except Exception as error:  # noqa: BLE001 - raised again where the answer is taken
            answer.come(partial(_raise, error))
            return
        with self._counting:
            self._working += 1
        reader().begin(self._work_out(answer, rest))

    @property
    def may_begin(self) -> bool:
        """Whether there is a key to begin, and room for it."""
        place = self._working < self._width + min(self._paused, self._spare) + self._queued
        return place and self._next < len(self._order) and (len(self._awaited) < 4 * self._width or self._may_hold)

    @property
    def _may_hold(self) -> bool:
        """Whether more may wait than four times the width: there is nothing to take, and room."""
        return self._sought is not None and not self._sought.has_come and self._held < self._room

    def _tell_of_room(self) -> None:
        if self._sought is not None and self.may_begin:
            reader().pause()

    async def _work_out(self, answer: _Answer[Value], rest: Callable[[], Coroutine[Any, Any, Value]]) -> None:
        if self._closed:
            return
        try:
            value = await rest()
            answer.size = self._size(value)
            with self._counting:
                self._held += answer.size
            answer.come(lambda: value)
        except BaseException as error:
            answer.come(partial(_raise, error))
            if isinstance(error, KeyboardInterrupt):  # meant for the thread that drives, and now
                raise
        with self._counting:
            self._working -= 1
        if answer is self._sought:
            reader().pause()
        else:
            self._tell_of_room()

    def close(self) -> None:
        """Drop what has not begun; what is in flight ends by itself, or with the process."""
        self._closed = True


def go_on(several: Sequence[LookAhead[Key, Value]], unless: Callable[[], bool]) -> None:
    """Begin keys of `several` while who takes their answers waits for something else, `unless` it is there.

    Returns when it is: who makes it come calls the reader's `pause`.
    """
    for ahead in several:
        ahead.is_waited_beside(True)
    while not unless():
        for ahead in several:
            ahead.fill()
        reader().carry_on(unless=lambda: unless() or any(ahead.may_begin for ahead in several))
    for ahead in several:
        ahead.is_waited_beside(False)


class _Answer(Generic[Value]):
    """A place for what the reader works out. Less than a `Future`, and a tenth of its time."""

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
