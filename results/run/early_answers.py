"""Answers that have come before their turn: kept from the moment they arrive, so that no kill loses one.

Cells are asked ahead of pytest, one test at a time, so answers wait for their test and the journal gets them late.
Until then they stand in `answers-PROCESS.jsonl`, a file for each process; a run that ends by itself removes them.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.asking.replay import WAITING
from needlework.haystack_fixtures.trials.exchange import Exchange
from needlework.results.run.make_record import response_facts, timing_facts
from needlework.results.run.retrieval_facts import facts_of

_FILES = "answers-*.jsonl"
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class Answers:
    """The answers of this process. `keep` may be called from several threads."""

    def __init__(self, folder: Path, worker: str) -> None:
        self._path = folder / f"answers-{os.getpid()}.jsonl"
        self._worker = worker
        self._turn = threading.Lock()
        self._file: FileIO | None = None
        self._closed = False

    def keep(self, exchange: Exchange) -> None:
        """Write down an answer; one that is no valid answer will be asked for again and is left out."""
        if exchange.response.error is not None or exchange.invalid or exchange.skipped:
            return
        told = {
            "key": exchange.key,
            "outcome": WAITING,
            "question": exchange.question,
            "reference": exchange.reference,
            "prompt": facts_of(exchange),
            "response": response_facts(exchange),
            "details": {"flags": list(exchange.flags)},
            "timing": timing_facts(exchange, self._worker),
        }
        line = f"{_encode(told)}\n".encode("ascii")
        # A disk that is full is told by the journal, which is written next.
        with self._turn, suppress(OSError):
            if not self._closed:
                self._file = self._file or FileIO(self._path, "a")
                self._file.write(line)

    def close(self) -> None:
        """Write no more: requests may still end when the run has."""
        with self._turn:
            self._closed = True
            if self._file is not None:
                self._file.close()


def read_answers(folder: Path) -> dict[str, Mapping[str, Any]]:
    """What processes that were killed had been answered, by key."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob(_FILES)):
        with suppress(OSError):
            for line in path.read_bytes().split(b"\n")[:-1]:  # what follows the last newline is torn
                with suppress(ValueError):
                    told = json.loads(line)
                    if (
                        isinstance(told, dict)
                        and told.get("outcome") == WAITING
                        and {"key", "reference"} <= told.keys()
                    ):
                        found[told["key"]] = told
    return found


def drop_answers(folder: Path) -> None:
    """Remove the files: everything in them is in the journal, or not wanted."""
    for path in folder.glob(_FILES):
        with suppress(OSError):
            path.unlink()
