"""The server of `--serve`: started when a cell needs it, watched, and ended with the run."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from needlework.core.errors import InputError, printable
from needlework.models.engines.recipes import HERE, check_installed
from needlework.models.engines.served_run import ServedRun

LOG, ENDED = "log.txt", "ended.json"
_HEALTH = ("/health", "/v1/models")  # paths that show a server without a recipe to be ready
_PORTS = range(20_000, 32_000)  # below those that systems give to outgoing connections
_STOP_S = 15.0  # the keeper's own grace is 10 s
_FAULTY_S = 60.0  # for which a server may answer its health check with errors before the user is told
_TAIL = 2**20  # bytes of the log that are looked at for its last lines


class Serving:
    """One server of one run; threads may share it.

    `folder` gives the folder for its log. `handed_on`: what a worker's controller says of the server, empty where it
    started none; `None` in the process that starts it. `tell` is given the seconds since the start, and the log's last
    line.
    """

    def __init__(self, served: ServedRun, folder: Callable[[], Path], handed_on: str | None = None) -> None:
        self.served = served
        self._new_folder = folder
        self._is_worker = handed_on is not None
        running = json.loads(handed_on or "{}")
        self._url: str | None = running.get("url")
        self._folder: Path | None = Path(running["folder"]) if running else None
        self._starting = threading.Lock()
        self._keeper: subprocess.Popen[bytes] | None = None
        self.tell: Callable[[float, str], None] = lambda _seconds, _line: None

    @property
    def name(self) -> str:
        """The engine."""
        return self.served.recipe.engine

    @property
    def started(self) -> bool:
        """Whether the server is there, or was."""
        return self._url is not None

    def handed_on(self) -> str:
        """What workers are told, see the class; empty where it is not started."""
        return json.dumps({"url": self._url, "folder": str(self._folder)}) if self._url else ""

    def check(self) -> None:
        """Refuse what cannot be started because it is not installed. Raises `InputError`."""
        check_installed(self.served.recipe, self.served.words(0))

    def address(self) -> str:
        """The server's base URL; it is started, and waited for, on the first call. Raises `InputError`."""
        with self._starting:
            if self._url is None:
                if self._is_worker:
                    remedy = "it was not started, as every answer seemed to be there; run again without -n"
                    raise InputError("--serve", self.name, remedy)
                self.check()
                port = free_port()
                self._start(port)
                self._url = f"http://127.0.0.1:{port}/v1"
            return self._url

    def _start(self, port: int) -> None:
        """Start it and wait until it is healthy. Raises `InputError` when it ends before, or takes too long."""
        self._folder = folder = self._new_folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ENDED).unlink(missing_ok=True)
        log = folder / LOG
        with log.open("ab") as file:
            file.write(f"{_STARTED}{time.strftime('%Y-%m-%d %H:%M:%S')} on port {port}\n".encode())
        keeper = [sys.executable, "-I", str(HERE / "keeper.py"), str(log), str(folder / ENDED)]
        self._keeper = subprocess.Popen(
            [*keeper, *self.served.words(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for pytest alone, which then ends it
        )
        recipe = self.served.recipe
        health = (recipe.health,) if recipe.health else _HEALTH
        begun = failing_since = time.monotonic()
        try:
            while status := _health_status(port, health):
                now = time.monotonic()
                failing_since = failing_since if status >= 500 else now
                if why := self.ended():
                    raise InputError("--serve", self.name, why)
                if now - begun > recipe.start_s:
                    raise InputError("--serve", self.name, f"not healthy after {recipe.start_s:g} s; its log: {log}")
                faulty = f"it answers HTTP {status} to {health[0]}; " if now - failing_since > _FAULTY_S else ""
                self.tell(now - begun, faulty + "".join(last_lines(log, 1)))
                time.sleep(0.2 if now - begun < 10 else 1.0)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, if this process has started it, whatever it does; returns when it is gone."""
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

    def ended(self) -> str:
        """How the server ended by itself; empty while it runs."""
        if self._folder is None:
            return ""
        log = self._folder / LOG
        with suppress(ValueError, OSError):
            log = log.relative_to(Path.cwd())
        rest = f"mend that, and run again to go on (log: {log})"
        try:
            code = json.loads((self._folder / ENDED).read_text(encoding="ascii"))["code"]
        except (OSError, ValueError, KeyError):
            is_lost = self._keeper is not None and self._keeper.poll() is not None
            return f"its process was killed; run again to go on (log: {log})" if is_lost else ""
        if code < 0:
            short = "; systems do that when memory is short" if code == -signal.SIGKILL else ""
            return f"the server was ended by signal {-code}{short}; {rest}"
        return f"the server ended with code {code}: {_cause(self.last_lines(4000))}; {rest}"

    def last_lines(self, count: int) -> list[str]:
        """The end of its log."""
        return last_lines(self._folder / LOG, count) if self._folder is not None else []


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise InputError("--serve", "a free port", "none of 100 tried ports of this machine is free; end some servers")


def _health_status(port: int, paths: tuple[str, ...]) -> int:
    """0 where the server is ready; else what it answered, -1 for nothing."""
    status = -1
    for path in paths:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return -1
        finally:
            connection.close()
        if status < 400:
            return 0
    return status


_STARTED = "== "  # begins the line that stands before a server's own lines
_EXCEPTION = re.compile(r"\b\w*(Error|Exception)\b\W+\w")
_CONSEQUENCE = re.compile(r"root cause|EngineDead|Cancelled|shut(ting)? ?down", re.IGNORECASE)


def _cause(lines: list[str]) -> str:
    """The line that says why a server ended: an engine's other processes may say much after it."""
    starts = [at for at, line in enumerate(lines) if line.startswith(_STARTED)]
    lines = lines[starts[-1] + 1 :] if starts else lines
    causes = [line for line in lines if not _CONSEQUENCE.search(line)]
    named = [line for line in causes if _EXCEPTION.search(line)]
    errors = [line for line in causes if re.search("[Ee]rror|ERROR", line)]
    return printable(next(reversed(named or errors or lines), "without a word"), 200)


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of a log that are not empty, each as a terminal may show it."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    # Progress bars write over themselves.
    rows = [line for line in text.split("\n") if line.strip()][-count:]
    return [line for row in rows if (line := printable(row.rpartition("\r")[2] or row, 300))]
