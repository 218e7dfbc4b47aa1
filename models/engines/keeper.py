"""Keep one server: start it, and end it with all of its children when this process's owner is gone.

A program of its own, of the standard library alone, so that the server's environment stays as it is:
`python -I keeper.py LOG ENDED COMMAND...`. Standard input is the line to its owner: when it closes, for whatever
reason (also `kill -9`), the server ends. LOG is appended to; ENDED is written, as JSON, when the server ends by itself.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

_GRACE_S = 10.0  # between the polite signal and the other one


def main(log: str, ended: str, command: list[str]) -> int:
    """Run `command` until it or the owner ends."""
    with Path(log).open("ab") as out:
        try:
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
            )
        except OSError as error:
            out.write(f"{command[0]} cannot be started: {error.strerror}\n".encode())
            _tell(ended, 127)
            return 127
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())

    def wait_for_owner() -> None:
        sys.stdin.buffer.read()
        stopping.set()

    threading.Thread(target=wait_for_owner, daemon=True).start()
    while server.poll() is None and not stopping.wait(0.1):
        pass
    children = family(server.pid) - {server.pid}
    if server.poll() is None:
        with suppress(OSError, subprocess.TimeoutExpired):
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(_GRACE_S)
    elif not stopping.is_set():
        _tell(ended, server.returncode)
    with suppress(OSError):
        os.killpg(server.pid, signal.SIGKILL)
    for pid in children:  # also those that have left the server's process group
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return 0


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Have Linux send this signal if the parent is killed. Runs in a child, before `exec`."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, number)  # PR_SET_PDEATHSIG


def _tell(ended: str, code: int) -> None:
    """Say how the server ended, whole or not at all."""
    half = Path(f"{ended}.half")
    half.write_text(json.dumps({"code": code}), encoding="ascii")
    half.replace(ended)


def family(server: int) -> set[int]:
    """The process and all that descend from it, as far as /proc tells."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
    descendants = {server}
    while more := {pid for pid, parent in parents.items() if parent in descendants} - descendants:
        descendants |= more
    return descendants


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
