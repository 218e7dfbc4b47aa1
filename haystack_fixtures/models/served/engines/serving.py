"""The server of a run: started when an answer is needed, once for all of its processes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.served.engines.child import (
    LOG,
    Child,
    Tell,
    ended,
    free_port,
    last_lines,
    shown,
)
from needlework.haystack_fixtures.models.served.engines.command import check_installed
from needlework.haystack_fixtures.models.served.engines.served_run import ServedRun


class Serving:
    """Starts the server on the first call of `address`. Threads may share it.

    `folder`: gives the folder for its log. `given`: what a worker's controller says of the server (`handed_on`), empty
    where it started none; `None` in the process that starts it.
    """

    def __init__(self, served: ServedRun, folder: Callable[[], Path], given: str | None = None) -> None:
        self._served = served
        self._folder_of = folder
        self._given = json.loads(given or "{}") if given is not None else None
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._url: str | None = (self._given or {}).get("url")
        self._folder: Path | None = Path(self._given["folder"]) if self._given else None
        self.tell: Tell = lambda _seconds, _line: None

    @property
    def name(self) -> str:
        """The engine."""
        return self._served.recipe.name

    @property
    def facts(self) -> dict[str, str]:
        """What a manifest tells of it."""
        return self._served.facts

    @property
    def weights(self) -> str:
        """The spec of the model whose weights are served; empty where they are not known here."""
        return self._served.weights

    @property
    def started(self) -> bool:
        """Whether the server is there, or was."""
        return self._url is not None

    def check(self) -> None:
        """Refuse what cannot be started because it is not installed. Raises `InputError`."""
        check_installed(self._served.recipe, self._served.words(0))

    def address(self) -> str:
        """The server's base URL; it is started, and waited for, on the first call. Raises `InputError`."""
        with self._lock:
            if self._url is None:
                if self._given is not None:
                    remedy = "it was not started, as every answer seemed to be there; run again without -n"
                    raise InputError("--serve", self.name, remedy)
                self._start()
            return str(self._url)

    def ended(self) -> str:
        """How the server ended by itself; empty while it runs."""
        if self._folder is None:
            return ""
        if why := ended(self._folder):
            return why
        lost = self._child is not None and self._child.lost
        return f"the server was killed; run again to go on (log: {shown(self._folder)})" if lost else ""

    def last_lines(self, count: int) -> list[str]:
        """The end of its log."""
        return last_lines(self._folder / LOG, count) if self._folder is not None else []

    def handed_on(self) -> str:
        """What workers are told, see `given`; empty where it is not started."""
        return json.dumps({"url": self._url, "folder": str(self._folder)}) if self._url else ""

    def stop(self) -> None:
        """End the server, if this process has started it."""
        if self._child is not None:
            self._child.stop()

    def _start(self) -> None:
        self.check()
        port = free_port()
        recipe = self._served.recipe
        self._folder = self._folder_of()
        self._child = Child(recipe.name, self._served.words(port), port, recipe.health, self._folder, recipe.start_s)
        self._child.start(self.tell)
        self._url = f"http://127.0.0.1:{port}/v1"
