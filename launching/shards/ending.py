"""How a shard ended: one small file, written by the process that ran it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.records.run_file import read_run_json

_ERROR = re.compile(r"\b(ERROR|error):")
DONE = (0, 1)  # pytest's: all cells answered; some of them ended in errors
DIED = 3  # an internal error; so counts every signal that nobody sent to stop it
INTERRUPTED = 2
WRONG_USE = (
    INTERRUPTED,
    4,
    5,
)  # a file that cannot be collected, an option that is wrong, nothing selected: the same next time


@dataclass(frozen=True)
class Ending:
    """`exit`: pytest's code, negative for a signal. `digest`: of the words. `tries`: processes that were needed."""

    exit: int
    digest: str
    tries: int
    host: str
    why: str = ""

    @property
    def done(self) -> bool:
        return self.exit in DONE


def ending_of(notes: Path, name: str) -> Ending | None:
    """Read a shard's ending, `name` as in `2-of-4`; `None` where there is none."""
    try:
        return Ending(**read_run_json(notes / f"shard-{name}.json"))
    except (OSError, ValueError, TypeError):
        return None


def write_ending(notes: Path, name: str, ending: Ending) -> None:
    """Write a shard's ending. Raises `OSError`."""
    write_whole(notes / f"shard-{name}.json", json.dumps(asdict(ending)).encode())


def error_line(output: str) -> str:
    """The last line of pytest's output that tells an error; empty where none does."""
    told = [line.strip() for line in output.splitlines() if _ERROR.search(line)]
    return told[-1] if told else ""


def digest_of(words: Sequence[str]) -> str:
    """Ten hex digits for the words that pytest was given."""
    return sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:10]
