"""Hand cells to a model in batches while pytest runs one test at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Batches(Generic[Key, Value]):
    """Answers worked out some at a time, in the order that was announced.

    `work` answers a batch, in its order; `size(key)` says how many keys a batch that begins with this one may have,
    `wanted(key)` whether a key still needs an answer. Nothing is worked out before it or a key of its batch is taken,
    so that memory holds one batch at a time.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Key]], Sequence[Value]],
        size: Callable[[Key], int],
        wanted: Callable[[Key], bool],
    ) -> None:
        self._work = work
        self._size = size
        self._wanted = wanted
        self._coming: deque[Key] = deque()
        self._done: dict[Key, Value] = {}

    def extend(self, keys: Iterable[Key]) -> None:
        """Announce keys that will be taken, after those announced before."""
        self._coming.extend(keys)

    def take(self, key: Key) -> Value:
        """The answer for `key`, worked out together with those that come next if it has none yet."""
        if key not in self._done:
            batch = self._next_batch(key)
            self._done.update(zip(batch, self._work(batch), strict=True))
        return self._done.pop(key)

    def _next_batch(self, key: Key) -> list[Key]:
        # Keys are taken in the announced order: what stands before this one was left out by the caller.
        if key in self._coming:
            while self._coming.popleft() != key:
                pass
        batch, size = [key], self._size(key)
        while self._coming and len(batch) < size:
            following = self._coming.popleft()
            if following not in self._done and self._wanted(following):
                batch.append(following)
        return batch
