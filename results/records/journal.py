"""The journal of a run: records, and answers that wait for their test."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import FileIO
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.record import FINAL, WAITING, Record, encode_record, read_record
from needlework.pipeline.exchange import StoredAnswer
from needlework.results.records.run_folder import SHARDS, check_run_file, claim, read_run_file

FSYNC_EVERY_S = 1.0


class Journal:
    """An open journal. Every line is written through (it survives a killed process), and synced at least every second
    while records come (it survives a power cut).

    One process at a time: the file is locked, and a second run into the same folder is refused. `warning`: what to
    tell where it cannot be locked.
    """

    def __init__(self, path: Path, *, fresh: bool, option: str | None = None) -> None:
        """`option`: what named the file, where that is not a run's folder."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() or path.is_symlink():
                check_run_file(path)
            self._file = FileIO(path, "r+" if path.exists() else "w+")
        except OSError as error:
            named = (option, path) if option else ("--results-dir", path.parent)
            raise InputError(*named, f"cannot be written ({error.strerror})") from None
        self._named = (option, path) if option else ("--run-name", path.parent)
        try:
            self.warning = claim(self._file, path, self._named)
        except BaseException:
            self._file.close()
            raise
        if fresh:
            self._file.truncate(0)
        else:
            _cut_torn_tail(self._file)
        self._size = self._file.seek(0, os.SEEK_END)
        self._synced = time.monotonic()

    def append(self, line: str) -> None:
        """Write one record's `line_of`. Raises `InputError` when the disk is full; the lines before it stay whole."""
        data = f"{line}\n".encode()
        try:
            written = 0
            while written < len(data):
                written += self._file.write(data[written:])
            if time.monotonic() - self._synced >= FSYNC_EVERY_S:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
            self._size += len(data)
        except OSError as error:
            # Half a line must not stay: the next one would be glued to it.
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            raise InputError(
                "journal", self._path, f"cannot be written ({error.strerror}); free space and run again"
            ) from None

    def close(self) -> None:
        """Sync and let go; once is enough."""
        if self._file.closed:
            return
        try:
            os.fsync(self._file.fileno())
        finally:
            self._file.close()

    def replace(self, content: bytes) -> None:
        """Put other lines in the place of all, whole or not at all. Raises `OSError`."""
        write_whole(self._path, content)
        file = FileIO(self._path, "r+")
        claim(file, self._path, self._named)
        self._file.close()
        self._file = file
        self._size = self._file.seek(0, os.SEEK_END)


def line_of(record: Record) -> str:
    """A record as the journal holds it: JSON on one line."""
    return encode_record(record).decode()


def read_journal(path: Path) -> list[Record]:
    """All records in the order written; a line that a killed process left half is passed over."""
    return read_and_count(path)[0]


def read_and_count(path: Path) -> tuple[list[Record], int]:
    """The records as `read_journal` gives them, and how many lines are none. Half a line at the end is not counted."""
    try:
        data = read_run_file(path)
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise InputError("journal", path, f"cannot be read ({error.strerror})") from None
    records = [None if record is None or record.outcome == WAITING else record for record in _records_in(data)]
    return [record for record in records if record is not None], records.count(None)


def unread_note(lines: int) -> str:
    """What is said of lines that are no records."""
    count = "1 line" if lines == 1 else f"{lines} lines"
    return f"{count} of journal.jsonl could not be read (damaged): trials that stood only there are asked again"


def _records_in(data: bytes) -> Iterator[Record | None]:
    """The record of each line that is not empty, `None` where it has none; what follows the last newline is left out,
    it may not be whole yet."""
    for line in data.split(b"\n")[:-1]:
        if line.strip():
            try:
                yield read_record(line)
            except ValueError:
                yield None


def _cut_torn_tail(file: FileIO) -> None:
    """Cut back to the last newline: the next record would be glued to half a line, and lost with it."""
    size = file.seek(0, os.SEEK_END)
    while size > 0:
        step = min(size, 65_536)
        file.seek(size - step)
        newline = file.read(step).rfind(b"\n")
        if newline >= 0:
            _cut_to(file, size - step + newline + 1)
            return
        size -= step
    _cut_to(file, 0)


def _cut_to(file: FileIO, size: int) -> None:
    if file.seek(0, os.SEEK_END) > size:  # a cut that cuts nothing would still count as written now
        file.truncate(size)


def stored_answers(
    records: list[Record], waiting: list[Record], rulings: Mapping[str, Record] = MappingProxyType({})
) -> dict[str, StoredAnswer]:
    """The answers that are there, by key; of a key's answers the last one counts, and any record before the waiting.

    An error that came after an answer, as in journals that were joined, takes nothing away. What only a judge failed at
    is an answer. `rulings`: records with the judges' ruling on these answers, by key, newer than `records`.
    """
    final = {record.key: record for record in records if record.outcome in FINAL or _unjudged(record)}
    latest = {record.key: record for record in waiting} | final
    return {
        key: StoredAnswer(
            record, rulings.get(key, record if record.score is not None else None), record.outcome != WAITING
        )
        for key, record in latest.items()
    }


def _unjudged(record: Record) -> bool:
    """Whether an answer is there, and only its judge failed: the judge is asked again, not the model."""
    return record.outcome == "error" and record.error is not None and record.error.kind == "judge"


def ruling_of(record: Record) -> str | None:
    """What names the ruling of judges on this answer (`ruling_key`); `None` where no judge ruled."""
    ruling: str | None = record.details.score.get("ruling")
    return ruling


# Cells are asked ahead of pytest, one test at a time, so answers wait for their test. Until then they stand in files of
# the journal's format, one for each process that asks: `answers-PID.jsonl`. Their outcome is `unscored`, until judges
# have ruled ahead: then they stand there once more, with the score. A run that is whole removes these files; after one
# that was interrupted or killed they are read with the journal.
WAITING_FILES = "answers-*.jsonl"


class WaitingAnswers:
    """This process's file of waiting answers, made with the first. `append` may be called from several threads."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / WAITING_FILES.replace("*", str(os.getpid()))
        self._turn = threading.Lock()
        self._file: FileIO | None = None
        self._closed = False

    def append(self, answer: Record) -> None:
        """Write an answer down. A disk that is full is told by the journal, which is written next."""
        line = encode_record(answer) + b"\n"
        with self._turn, contextlib.suppress(OSError):
            if not self._closed:
                self._file = self._file or FileIO(self._path, "a")
                self._file.write(line)

    def close(self) -> None:
        """Write no more: requests may still end when the run has."""
        with self._turn:
            self._closed = True
            if self._file is not None:
                self._file.close()


def read_waiting(folder: Path) -> list[Record]:
    """The answers that processes of a run that ended early had got and that no test of theirs has scored."""
    return [record for record in _waiting_records(folder) if record.outcome == WAITING]


def read_rulings(folder: Path) -> dict[str, Record]:
    """What judges made of answers before the tests of these did, by key: records with the score."""
    return {record.key: record for record in _waiting_records(folder) if record.score is not None}


def _waiting_records(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.glob(WAITING_FILES)):
        with contextlib.suppress(OSError):
            yield from _readable(read_run_file(path))


def _readable(data: bytes) -> Iterator[Record]:
    return (record for record in _records_in(data) if record is not None)


def drop_waiting(folder: Path, *, earlier: Container[Path] = (), answered: Container[str] = ()) -> None:
    """Remove the files of waiting answers: everything in them is in the journal, or not wanted.

    Of `earlier` sessions only those whose keys are all `answered`: they may have asked more than this one.
    """
    for path in folder.glob(WAITING_FILES):
        with contextlib.suppress(OSError):
            if path not in earlier or all(record.key in answered for record in _readable(read_run_file(path))):
                path.unlink()


FILE = "answer-vectors.npz"
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AnswerVectors:
    """`embedder`: as it was asked for. `by_hash`: float32 [size] of each answer, by the sha256 of its text."""

    embedder: str
    by_hash: Mapping[str, Vector]

    def of(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of texts, float32 [texts, size]; `None` where one is missing."""
        vectors = [self.by_hash.get(_hash(text)) for text in texts]
        return (
            None if any(each is None for each in vectors) else np.stack([each for each in vectors if each is not None])
        )


def write_vectors(folder: Path, embedder: str, vectors: Mapping[str, Vector]) -> None:
    """Write the vectors of answers by their texts. Raises `OSError`."""
    if vectors:
        hashes = np.array([_hash(text) for text in vectors])
        np.savez(folder / FILE, embedder=np.array(embedder), hashes=hashes, vectors=np.stack(list(vectors.values())))


def read_vectors(folder: Path) -> AnswerVectors | None:
    """The vectors of a run and of its shards; `None` where there are none, or none that can be read."""
    vectors: dict[str, Vector] = {}
    embedders: set[str] = set()
    for path in (folder / FILE, *sorted(folder.glob(f"{SHARDS}/*/{FILE}"))):
        try:
            check_run_file(path)
            with np.load(path, allow_pickle=False) as stored:
                embedders.add(str(stored["embedder"]))
                vectors |= zip(stored["hashes"].tolist(), stored["vectors"], strict=True)
        except (OSError, ValueError, KeyError, EOFError):
            continue
    return AnswerVectors(embedders.pop(), vectors) if len(embedders) == 1 else None


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
