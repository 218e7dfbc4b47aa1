"""A run's records as they are now: read once, and of a run that goes on only what is new."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.index_file import Indexed, read_index
from needlework.results.files.json_file import read_json
from needlework.results.records.journal import records_of
from needlework.results.records.record import Record
from needlework.results.records.run_folder import JOURNAL
from needlework.results.records.tests_of_cells import answered_before, identity, latest_of_each
from needlework.results.statistics.panels import OUTCOMES
from needlework.results.web.browsing.filters import choices, counted
from needlework.results.web.browsing.parts import Part, parts_of
from needlework.results.web.browsing.rows import Row, rows_of

_RESULTS, _MANIFEST = "results.json", "manifest.json"
_HEAD = 4096  # bytes of a journal that tell it from another one of the same name


@dataclass(frozen=True)
class Reading:
    """A run at one moment. `ended`: whether it says that it has; `planned`: trials that it is to have, 0 where it does
    not say; `written`: when its records were, seconds since 1970.

    `by_key`, `by_cell`: the same rows; several models may share a cell. `choices`: what there is to filter by.
    """

    rows: tuple[Row, ...]
    ended: bool
    planned: int
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


@dataclass(frozen=True, slots=True)
class Brief:
    """What a card of a run says. `counts`: of trials by outcome, those that nobody had left out."""

    trials: int
    planned: int
    models: tuple[str, ...]
    counts: Mapping[str, int]
    ended: bool
    written: float

    @property
    def said(self) -> str:
        """`8 trials`, `8 of 40 trials`."""
        if self.trials < self.planned:
            return f"{self.trials:,} of {self.planned:,} trials"
        return f"{self.trials:,} {'trial' if self.trials == 1 else 'trials'}"

    @property
    def state(self) -> str:
        """`has not ended`, `interrupted`; empty of a run that came to its end."""
        if not self.ended:
            return "has not ended"
        return "interrupted" if self.trials < self.planned else ""


class OpenRun:
    """A run's folder. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal = _Tail(folder / JOURNAL)
        self._turn = Lock()
        self._stamp: tuple[object, ...] = ()
        self._reading: Reading | None = None
        self._brief: tuple[tuple[object, ...], Brief] | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.folder.name

    @property
    def written(self) -> float:
        """When something was last written of it, seconds since 1970; 0 where nothing is there."""
        stamps = (_stamp(self.folder / name) for name in (JOURNAL, _RESULTS))
        return max((each[2] / 1e9 for each in stamps if each), default=0.0)

    def brief(self) -> Brief:
        """What there is to say of it in short: by its index, where it has one, else by its records. Raises
        `InputError` where these cannot be read.
        """
        stamp = self._now()
        if self._brief is None or self._brief[0] != stamp:
            found = None if stamp == self._stamp else read_index(self.folder)
            self._brief = stamp, _of_rows(self.reading()) if found is None else self._of_index(found)
        return self._brief[1]

    def _of_index(self, found: Indexed) -> Brief:
        """An index is written with the results, and has no controls: they are counted as such."""
        counts: dict[str, int] = {name: sum(each.outcomes.get(name, 0) for each in found.entries) for name in OUTCOMES}
        controls = found.recorded - sum(counts.values())
        told = {
            name: count
            for name, count in (counts | {"control" if controls == 1 else "controls": controls}).items()
            if count
        }
        ended, _planned = _said(self.folder)
        models = tuple(sorted({each.model for each in found.entries}))
        return Brief(found.recorded, found.planned, models, told, ended, self.written)

    def _now(self) -> tuple[object, ...]:
        return tuple(_stamp(self.folder / name) for name in (JOURNAL, _RESULTS, _MANIFEST))

    def reading(self) -> Reading:
        """Its records as they are now. Raises `InputError` where they cannot be read."""
        with self._turn:
            stamp = self._now()
            if self._reading is None or stamp != self._stamp:
                with _uncollected(keep=self._reading is None):
                    self._reading, self._stamp = self._read(), stamp
            return self._reading

    def warm(self) -> None:
        """Read them before somebody asks; what is wrong with them is told to who does."""
        with suppress(InputError, OSError):
            _ = self.reading().parts

    def _read(self) -> Reading:
        journal, results = self.folder / JOURNAL, self.folder / _RESULTS
        ended, planned = _said(self.folder)
        source = results if results.is_file() and (ended or not journal.is_file()) else journal
        records = read_json(results) if source == results else self._journal.records()
        rows = rows_of(records)
        cells: dict[tuple[object, ...], tuple[Row, ...]] = {}
        for row in rows:
            cells[row.cell] = (*cells.get(row.cell, ()), row)
        by_key = {row.key: row for row in rows}
        return Reading(rows, ended, planned, source.stat().st_mtime, by_key, cells, choices(rows))


@contextmanager
def _uncollected(*, keep: bool) -> Iterator[None]:
    """Garbage is not looked for: looking through records that all stay takes as long as reading them. `keep`: nor is it
    looked for in them later.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if keep:
            gc.freeze()
        if enabled:
            gc.enable()


def _of_rows(found: Reading) -> Brief:
    counts = {name: count for name, count in counted(found.rows).items() if count}
    models = tuple(sorted({row.same["model"] for row in found.rows}))
    return Brief(len(found.rows), found.planned, models, counts, found.ended, found.written)


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


def _said(folder: Path) -> tuple[bool, int]:
    """Whether a run has ended, and how many trials it is to have, by its manifest; else, whether it has results."""
    try:
        content = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return content["ended"] is not None, int(content.get("planned") or 0)
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return (folder / _RESULTS).is_file(), 0
