"""A server as a child process: started on a free port, waited for, and stopped with all that it has started."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError, printable
from needlework.haystack_fixtures.models.served.engines.recipe import HERE

LOG, ENDED = "log.txt", "ended.json"
_PORTS = range(20_000, 32_000)  # below those that systems give to outgoing connections
_STOP_S = 15.0  # the keeper's own grace is 10 s
_TAIL = 65_536  # bytes of the log that are looked at for its last lines
Tell = Callable[[float, str], None]


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise InputError("--serve", "a free port", "none of 100 tried ports of this machine is free; end some servers")


class Child:
    """One server of one run. `folder` gets its log; what stands there from earlier is kept."""

    def __init__(self, name: str, words: Sequence[str], port: int, health: str, folder: Path, start_s: float) -> None:
        self._name = name
        self._words = tuple(words)
        self._port = port
        self._health = health
        self._start_s = start_s
        self._folder = folder
        self._keeper: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Lock()

    def start(self, tell: Tell) -> None:
        """Start it and wait until it is healthy; `tell` is given the seconds so far and the log's last line.

        Raises `InputError` when it ends before, or takes longer than `start_s` seconds.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / ENDED).unlink(missing_ok=True)
        log = self._folder / LOG
        with log.open("ab") as file:
            file.write(f"== {time.strftime('%Y-%m-%d %H:%M:%S')} on port {self._port}\n".encode())
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", str(HERE / "keeper.py"), str(log), str(self._folder / ENDED), *self._words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for pytest alone, which then ends it
        )
        begun = time.monotonic()
        try:
            while not self._healthy():
                passed = time.monotonic() - begun
                if why := ended(self._folder):
                    raise InputError("--serve", self._name, why)
                if self.lost:
                    raise InputError("--serve", self._name, "its process was killed; run again")
                if passed > self._start_s:
                    remedy = f"not healthy after {self._start_s:g} s; its log: {log}"
                    raise InputError("--serve", self._name, remedy)
                tell(passed, last_line(log))
                time.sleep(0.2 if passed < 10 else 1.0)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, whatever it does; returns when it is gone."""
        with self._stopping:
            keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.stdin is None:
            return
        with suppress(OSError):
            keeper.stdin.close()
        try:
            keeper.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()

    @property
    def lost(self) -> bool:
        """Whether what keeps the server was ended from outside, which ends the server too."""
        return self._keeper is not None and self._keeper.poll() is not None

    def _healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", self._health)
            return connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def ended(folder: Path) -> str:
    """How the server of this folder ended by itself, with its log's last line; empty while it runs."""
    try:
        code = json.loads((folder / ENDED).read_text(encoding="ascii"))["code"]
    except (OSError, ValueError, KeyError):
        return ""
    rest = f"mend that, and run again to go on (log: {shown(folder)})"
    if code < 0:
        short = "; systems do that when memory is short" if code == -signal.SIGKILL else ""
        return f"the server was ended by signal {-code}{short}; {rest}"
    said = next((line for line in reversed(last_lines(folder / LOG, 20)) if "rror" in line), last_line(folder / LOG))
    return f"the server ended with code {code}: {printable(said, 200)}; {rest}"


def shown(folder: Path) -> Path:
    """The log's path, short where it lies below the current folder."""
    log = folder / LOG
    with suppress(ValueError, OSError):
        return log.relative_to(Path.cwd())
    return log


def last_line(log: Path) -> str:
    """The log's last line that is not empty."""
    return next(reversed(last_lines(log, 1)), "")


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of a log that are not empty, each as a terminal may show it."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    # Progress bars write over themselves.
    lines = [printable(line.rpartition("\r")[2] or line, 300) for line in text.split("\n") if line.strip()]
    return [line for line in lines if line][-count:]
