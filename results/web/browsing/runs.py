"""A run's records as they are now: read once, and of a run that goes on only what is new."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.json_file import read_json
from needlework.results.records.journal import records_of
from needlework.results.records.record import Record
from needlework.results.records.run_folder import JOURNAL
from needlework.results.records.tests_of_cells import answered_before, identity, latest_of_each
from needlework.results.web.browsing.filters import choices
from needlework.results.web.browsing.parts import Part, parts_of
from needlework.results.web.browsing.rows import Row, rows_of

_RESULTS, _MANIFEST = "results.json", "manifest.json"
_HEAD = 4096  # bytes of a journal that tell it from another one of the same name


@dataclass(frozen=True)
class Reading:
    """A run at one moment. `ended`: whether it says that it has; `written`: when its records were, seconds since 1970.

    `by_key`, `by_cell`: the same rows; several models may share a cell. `choices`: what there is to filter by.
    """

    rows: tuple[Row, ...]
    ended: bool
    written: float
    by_key: Mapping[str, Row] = field(default_factory=dict)
    by_cell: Mapping[tuple[object, ...], tuple[Row, ...]] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What was measured, with its scores."""
        return parts_of(self.rows)

    def beside(self, row: Row) -> Row | None:
        """The trial of this run that another run's row is to be seen beside: that of the same model, if there is."""
        found = self.by_cell.get(row.cell, ())
        return next((each for each in found if each.same["model"] == row.same["model"]), next(iter(found), None))


class OpenRun:
    """A run's folder. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal = _Tail(folder / JOURNAL)
        self._turn = Lock()
        self._stamp: tuple[object, ...] = ()
        self._reading: Reading | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.folder.name

    @property
    def written(self) -> float:
        """When something was last written of it, seconds since 1970; 0 where nothing is there."""
        stamps = (_stamp(self.folder / name) for name in (JOURNAL, _RESULTS))
        return max((each[2] / 1e9 for each in stamps if each), default=0.0)

    def reading(self) -> Reading:
        """Its records as they are now. Raises `InputError` where they cannot be read."""
        with self._turn:
            stamp = tuple(_stamp(self.folder / name) for name in (JOURNAL, _RESULTS, _MANIFEST))
            if self._reading is None or stamp != self._stamp:
                self._reading, self._stamp = self._read(), stamp
            return self._reading

    def _read(self) -> Reading:
        journal, results = self.folder / JOURNAL, self.folder / _RESULTS
        ended = _ended(self.folder / _MANIFEST, results)
        source = results if results.is_file() and (ended or not journal.is_file()) else journal
        records = read_json(results) if source == results else self._journal.records()
        rows = rows_of(records)
        cells: dict[tuple[object, ...], tuple[Row, ...]] = {}
        for row in rows:
            cells[row.cell] = (*cells.get(row.cell, ()), row)
        return Reading(rows, ended, source.stat().st_mtime, {row.key: row for row in rows}, cells, choices(rows))


class _Tail:
    """A journal that may grow: each of its lines is parsed once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._head, self._read = b"", 0
        self._found: dict[str | None, dict[tuple[str, str, str], Record]] = {}
        self._recipe: str | None = None

    def records(self) -> list[Record]:
        """The last record of each trial of the journal's last recipe: a resumed run with other options is another.

        Raises `InputError`.
        """
        try:
            with self._path.open("rb") as file:
                head = file.read(_HEAD)
                if not head.startswith(self._head) or os.fstat(file.fileno()).st_size < self._read:
                    self._read, self._found = 0, {}
                file.seek(self._read)
                data = file.read()
        except OSError as error:
            raise InputError("journal", self._path, f"cannot be read ({error.strerror})") from None
        whole = data[: data.rfind(b"\n") + 1]
        self._head, self._read = head, self._read + len(whole)
        for record in records_of(whole):
            self._recipe = record["details"].get("recipe")
            found, at = self._found.setdefault(self._recipe, {}), identity(record)
            if at not in found or not answered_before(found[at], record):
                found[at] = record
        return latest_of_each(self._found.get(self._recipe, {}).values())


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _ended(manifest: Path, results: Path) -> bool:
    """Whether a run has ended, by its manifest; without one, whether it has results."""
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        return content["ended"] is not None
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return results.is_file()
