"""A questions file that is reviewed, as it is on disk now, and the reviewed file beside it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from needlework.haystack_fixtures.documents.questions import Rows, question_file, read_rows
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.web.log import Log
from needlework.results.web.store import as_text, name_beside

_OPTION = "PATH"
WRITTEN = "written"  # the page of the log that has what was written to files


@dataclass(frozen=True, slots=True)
class QuestionsFile:
    """`name`: what the state file calls it, so that both can be moved together."""

    path: Path
    name: str

    def read(self) -> tuple[Rows, str]:
        """Its rows now, and its sha256. Raises `InputError`."""
        try:
            stat = self.path.stat()
        except OSError as error:
            raise InputError(_OPTION, self.path, f"cannot be read ({error.strerror})") from None
        return _rows(str(self.path), stat.st_mtime_ns, stat.st_size)

    @property
    def target(self) -> Path:
        """Where the reviewed file goes: `q.checked.json` and `q.json` become `q.reviewed.json`."""
        stem = self.path.stem.removesuffix(".checked")
        return self.path.with_name(f"{stem}.reviewed.json")


def named(path: Path, state: Path) -> QuestionsFile:
    """A file, named by its path from the folder of the state file."""
    return QuestionsFile(path, name_beside(path, state))


def on_disk(path: Path) -> str | None:
    """The sha256 of a file; `None` where there is none."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(_OPTION, path, f"cannot be read ({error.strerror})") from None


def written_by(connection: sqlite3.Connection, file: QuestionsFile, digest: str) -> str | None:
    """The reviewer whose decisions we wrote to the target, with this sha256; `None` where it is not from here."""
    found = [each.who for each in _written(connection, file).history() if each.said["sha256"] == digest]
    return found[-1] if found else None


def write_reviewed(connection: sqlite3.Connection, file: QuestionsFile, rows: Rows, by: str) -> str:
    """Write the reviewed file whole, and return its sha256, which runs record. Raises `InputError`."""
    content = question_file(rows)
    digest = sha256(content).hexdigest()
    try:
        write_whole(file.target, content)
    except OSError as error:
        raise InputError(_OPTION, file.target, f"cannot be written ({error.strerror})") from None
    _written(connection, file).add(file.name, by, "wrote", {"sha256": digest})
    return digest


def _written(connection: sqlite3.Connection, file: QuestionsFile) -> Log:
    """What was written to the target, from whichever file."""
    return Log(connection, WRITTEN, as_text(file.target.name))


@lru_cache(8)
def _rows(path: str, _changed: int, _size: int) -> tuple[Rows, str]:
    return read_rows(path, _OPTION)
