"""What is made in a thread of its own, beside the pages."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

_Made = TypeVar("_Made")


class Later(Generic[_Made]):
    """Something that is made in a thread of its own, beside the pages."""

    def __init__(self, make: Callable[[], _Made]) -> None:
        self._done = Event()
        self._made: _Made | None = None
        self._problem: BaseException | None = None

        def run() -> None:
            try:
                self._made = make()
            except BaseException as error:  # noqa: BLE001 - told to whoever asks
                self._problem = error
            self._done.set()

        Thread(target=run, daemon=True).start()

    def get(self, wait_s: float | None = 0.0) -> _Made | None:
        """What was made; `None` where it is not ready after so many seconds. Raises what making it raised.

        `wait_s` none: however long it takes.
        """
        if not self._done.wait(wait_s):
            return None
        if self._problem is not None:
            raise self._problem
        return self._made
