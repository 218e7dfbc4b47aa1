"""A lock between processes, let go by the system when its holder dies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_POLL_S = 0.1


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting for it as long as it takes.

    Where the system has no flock, nothing is locked: callers must stay correct (though slower) without it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        if fcntl is None:
            yield
            return
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL_S)  # polled, so that Ctrl-C is answered
        try:
            yield
        finally:
            fcntl.flock(stream, fcntl.LOCK_UN)
