"""What one worker of a run has learnt about a server, for the others: all of them must decide alike."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.models.file_lock import locked

_KEPT_S = 24 * 3600.0


class Shared:
    """Facts learnt once for several processes, in a file that belongs to one run. `None`: for this process alone."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def once(self, key: str, learn: Callable[[], tuple[dict[str, Any], bool]]) -> dict[str, Any]:
        """The facts of `key`: those in the file, else what `learn` finds.

        `learn` returns facts and whether they are worth keeping: what failed in passing is left to the next worker.
        """
        if self._path is None:
            return learn()[0]
        name = sha256(key.encode()).hexdigest()[:16]
        try:
            with locked(self._path.with_suffix(".lock")):
                found = _read(self._path)
                if name not in found:
                    facts, keep = learn()
                    if not keep:
                        return facts
                    found[name] = facts
                    with suppress(OSError):  # a full disk costs the other workers a request, no more
                        self._path.write_text(json.dumps(found), encoding="utf-8")
                return dict(found[name])
        except OSError:
            return learn()[0]


def shared_by_run(folder: Path, run: str | None) -> Shared:
    """What the workers of `run` share; without a run of several workers nothing is shared."""
    if run is None:
        return Shared(None)
    _sweep(folder)
    return Shared(folder / f"{sha256(run.encode()).hexdigest()[:32]}.json")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _sweep(folder: Path) -> None:
    """Drop what runs of earlier days have left."""
    for path in folder.glob("*.*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _KEPT_S:
                path.unlink()
