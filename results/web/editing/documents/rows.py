"""The rows of a jsonl file, found again by their content when the file changes on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock

from needlework.haystack_fixtures.errors import InputError
from needlework.results.web.editing.documents.line import BOM, Line, read_line

_TITLE = 160  # characters


@dataclass(frozen=True, slots=True)
class Row:
    """A line that is not blank. `key`: sha256 of its content, and its number among equal ones.

    `offset`, `length`: bytes. `number`: of the line, from 1. `characters`: of the document. `title`: its beginning.
    """

    key: str
    offset: int
    length: int
    number: int
    title: str
    characters: int
    counts: tuple[int, int]
    problem: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file at one time; `places`: the index of each key."""

    rows: tuple[Row, ...]
    places: Mapping[str, int]


class JsonlFile:
    """A file that may change while it is served: `rows` are those that it has now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._read: tuple[tuple[int, int, int], Rows] | None = None

    def rows(self) -> Rows:
        """Its rows; read again when the file changed. Raises `InputError`."""
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    stat = self.path.stat()
                    stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
                    if self._read is None or self._read[0] != stamp:
                        self._read = (stamp, _index(file))
            except OSError as error:
                raise InputError("PATH", self.path, f"cannot be read ({error.strerror})") from None
            return self._read[1]

    def lines(self) -> list[bytes]:
        """Its lines with their ends, blank ones too. Raises `InputError`."""
        try:
            with self.path.open("rb") as file:
                return list(file)
        except OSError as error:
            raise InputError("PATH", self.path, f"cannot be read ({error.strerror})") from None

    def line(self, row: Row) -> Line:
        """Read a row. Raises `InputError`, also where the file changed since the row was found."""
        try:
            with self.path.open("rb") as file:
                file.seek(row.offset)
                raw = file.read(row.length)
        except OSError as error:
            raise InputError("PATH", self.path, f"cannot be read ({error.strerror})") from None
        if _content_hash(raw) != row.key.partition(".")[0]:
            raise InputError("PATH", self.path, "changed while it was read; load the page again")
        return read_line(raw)


def keyed(lines: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Each line with its key; blank lines have none."""
    seen: Counter[str] = Counter()
    for raw in lines:
        if raw.removeprefix(BOM).strip():
            content = _content_hash(raw)
            yield f"{content}.{seen[content]}", raw
            seen[content] += 1
        else:
            yield "", raw


def _index(lines: Iterable[bytes]) -> Rows:
    rows, offset = [], 0
    for number, (key, raw) in enumerate(keyed(lines), 1):
        if key:
            line = read_line(raw)
            rows.append(
                Row(
                    key,
                    offset,
                    len(raw),
                    number,
                    " ".join(line.document[: 4 * _TITLE].split())[:_TITLE],
                    len(line.document),
                    line.counts,
                    line.problem,
                )
            )
        offset += len(raw)
    return Rows(tuple(rows), {row.key: place for place, row in enumerate(rows)})


def _content_hash(raw: bytes) -> str:
    return sha256(raw.removeprefix(BOM).strip(b" \t\r\n")).hexdigest()
