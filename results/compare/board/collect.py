"""Many runs for leaderboard and history, read by several processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.read_run import RESULTS, manifest_at, read_run
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.statistics.asked import asked_of
from needlework.results.statistics.board.entry import Entry, entries_of
from needlework.results.statistics.in_short.faults import FAULTS
from needlework.results.statistics.run_report import interrupted
from needlework.results.tables.board import failed_words

_FEW = 4  # runs that are read here; more are shared among processes


@dataclass(frozen=True, slots=True)
class BoardRun:
    """A run as boards know it. `name`: of its folder, below the folder that was given; `why`: why it is not whole."""

    name: str
    folder: Path
    entries: tuple[Entry, ...]
    manifest: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class _Contents:
    """The entries of a run. `planned`: how many trials it was to have; `recorded`: how many it has."""

    entries: tuple[Entry, ...]
    planned: int
    recorded: int


@dataclass(frozen=True, slots=True)
class Collected:
    """Runs, and a line in `faults` for each that cannot be read.

    `from_folder`: whether a folder of runs was given, and not each run by name.
    """

    runs: tuple[BoardRun, ...]
    faults: tuple[str, ...]
    from_folder: bool


def collect(paths: Sequence[Path]) -> Collected:
    """Read runs, and all runs in and below folders. Raises `InputError` where there is none, or one was given by name
    that cannot be read.
    """
    found: dict[Path, tuple[str, bool]] = {}
    for path in paths:
        named = _is_run(path) or path.is_file()
        for folder in [path if path.is_dir() else path.parent] if named else _below(path):
            name = folder.resolve().name if named else str(folder.relative_to(path))
            found.setdefault(folder.resolve(), (name, named))
        if not named and not path.is_dir():
            raise InputError("RUN", path, "does not exist; give a run's folder, or a folder of runs")
    if not found:
        raise InputError("RUN", ", ".join(map(str, paths)), "no run there: no folder with a results.json")
    runs, faults = [], []
    names = [name for name, _ in found.values()]
    for (folder, (name, named)), read in zip(found.items(), _read_all(list(found)), strict=True):
        if isinstance(read, str):
            if named:
                raise InputError("RUN", folder, read)
            faults.append(f"{name} cannot be read: {read}")
        else:
            shown = name if names.count(name) == 1 else str(folder)
            runs.append(_run(shown, folder, read))
    return Collected(tuple(runs), tuple(faults), any(not named for _, named in found.values()))


def _run(name: str, folder: Path, read: _Contents) -> BoardRun:
    why = interrupted(read.recorded, read.planned) or _unanswered(read.entries) if read.entries else "has no trials"
    return BoardRun(name, folder, read.entries, manifest_at(folder / MANIFEST), why)


def _unanswered(entries: Sequence[Entry]) -> str:
    """Why a run says nothing of its models: all of its trials failed."""
    failed = all(entry.outcomes.keys() <= set(FAULTS) for entry in entries)
    return f"all of its trials failed ({failed_words(entries)})" if failed else ""


def _is_run(path: Path) -> bool:
    return any((path / name).is_file() for name in (RESULTS, JOURNAL))


def _below(path: Path) -> Iterator[Path]:
    """The runs in and below a folder, sorted; what lies in a run belongs to it."""
    for place, folders, files in os.walk(path):
        if RESULTS in files or JOURNAL in files:
            folders.clear()
            yield Path(place)
        folders.sort()


def _read_all(folders: Sequence[Path]) -> Iterable[_Contents | str]:
    """The contents of each run, or why it cannot be read."""
    if len(folders) <= _FEW:
        return [_read(folder) for folder in folders]
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 16)
    runs: list[_Contents | str] = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for run in pool.map(_read, folders):
            runs.append(run)
            if sys.stderr.isatty():
                print(f"\r{len(runs):,} of {len(folders):,} runs read", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return runs


def _read(folder: Path) -> _Contents | str:
    try:
        run = read_run(folder)
    except InputError as error:
        return str(error)
    return _Contents(entries_of(asked_of(run.records)), run.planned, len(run.records))
