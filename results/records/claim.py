"""One process at a time writes a journal: a lock of the system's, or where a file system has none, an owner file."""

from __future__ import annotations

import errno
import threading
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.haystack_fixtures.errors import InputError

if TYPE_CHECKING:
    from filelock import SoftFileLease

LEASE_S = 30.0
"""An owner file that was not renewed for so long is a dead process's; it is renewed three times as often."""
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
_BUSY = "another run is writing there; wait for it or use another name"


class Claim:
    """Held until `release`. `warning`: a sentence where the file system has no locks, else empty."""

    def __init__(self, file: FileIO, path: Path, named: tuple[str, Path]) -> None:
        """Lock the open `file` at `path`. Raises `InputError` about `named` where another process has it."""
        self._named = named
        self._lease: SoftFileLease | None = None
        self._lost = threading.Event()
        self.warning = ""
        reason = _lock(file, named)
        if reason:
            self._lease = self._own(path)
            self.warning = (
                f"{path.parent}: the file system has no locks ({reason}); {path.name}.owner stands for one: after a"
                f" machine died, the next run waits {LEASE_S:.0f} s, and a process that hangs for longer may be taken"
                " for dead"
            )

    def move(self, file: FileIO) -> None:
        """Lock another file that has taken the first one's place. Raises `InputError`."""
        if self._lease is None:
            _lock(file, self._named)

    def check(self) -> None:
        """Raise `InputError` where another process has taken this one for dead."""
        if self._lost.is_set():
            problem = "another run has taken this one for dead and writes there; run again when it has ended"
            raise InputError(*self._named, problem)

    def release(self) -> None:
        """Let others write. The system frees its own lock with the file."""
        if self._lease is not None:
            self._lease.release()

    def _own(self, path: Path) -> SoftFileLease:
        from filelock import SoftFileLease, Timeout

        lease = SoftFileLease(
            path.with_name(f"{path.name}.owner"),
            lease_duration=LEASE_S,
            timeout=LEASE_S + 2,
            on_compromise=lambda _loss: self._lost.set(),
        )
        try:
            lease.acquire()
        except Timeout:
            who = f" (process {lease.owner.pid} on {lease.owner.hostname})" if lease.owner else ""
            raise InputError(*self._named, f"{_BUSY}{who}") from None
        except OSError as error:
            raise InputError(*self._named, f"cannot be written ({error.strerror})") from None
        return lease


def _lock(file: FileIO, named: tuple[str, Path]) -> str:
    """Lock it; what the system says where it cannot. Raises `InputError` where another process has it."""
    try:
        import fcntl
    except ImportError:  # Windows: no advisory lock in the standard library worth having
        return ""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            raise InputError(*named, _BUSY) from None
        return error.strerror or "no reason given"
    return ""
