"""Collects the runs of a board."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import quote

from needlework.core.errors import InputError
from needlework.results.files.read_run import RESULTS, Run, read_run
from needlework.results.records.run_folder import JOURNAL
from needlework.results.records.samples import began, grouped
from needlework.results.statistics.leaderboard.boards import ModelRun, comparable_groups
from needlework.results.statistics.leaderboard.entries import BoardEntry, entries_of
from needlework.results.statistics.panels import asked_of
from needlework.results.statistics.run_followup import FAULTS
from needlework.results.statistics.run_report import interrupted
from needlework.results.statistics.wording import adaptive_clause
from needlework.results.style import one_line
from needlework.results.tables.leaderboard import failed_words

_FEW = 4  # runs that are read here; more are shared among processes


@dataclass(frozen=True, slots=True)
class BoardRun:
    """A run as boards know it. `name`: of its folder, below the folder that was given; `why`: why it is not ranked."""

    name: str
    folder: Path
    entries: tuple[BoardEntry, ...]
    manifest: Mapping[str, Any]
    why: str

    @property
    def models(self) -> list[str]:
        """The models that it asked, sorted."""
        return sorted({entry.model for entry in self.entries})

    def entries_of(self, model: str) -> dict[str, BoardEntry]:
        """The entries of a model by task."""
        return {entry.task: entry for entry in self.entries if entry.model == model}


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
    folders: dict[Path, tuple[str, bool]] = {}
    for path in paths:
        named = any((path / name).is_file() for name in (RESULTS, JOURNAL)) or path.is_file()
        for folder in [path if path.is_dir() else path.parent] if named else _below(path):
            name = folder.resolve().name if named else str(folder.relative_to(path))
            folders.setdefault(folder.resolve(), (name, named))
        if not named and not path.is_dir():
            raise InputError("RUN", path, "does not exist; give a run's folder, or a folder of runs")
    if not folders:
        raise InputError("RUN", ", ".join(map(str, paths)), "no run there: no folder with a results.json")
    runs, faults = [], []
    counts = Counter(name for name, _ in folders.values())
    named_folders = [(name if counts[name] == 1 else str(folder), folder) for folder, (name, _) in folders.items()]
    for (folder, (name, named)), run in zip(folders.items(), _read_all(named_folders), strict=True):
        if isinstance(run, BoardRun):
            runs.append(run)
        elif named:
            raise InputError("RUN", folder, run)
        else:
            faults.append(f"{name} cannot be read: {run}")
    return Collected(tuple(runs), tuple(faults), any(not named for _, named in folders.values()))


def _below(path: Path) -> Iterator[Path]:
    """The runs in and below a folder, sorted; what lies in a run belongs to it."""
    for place, folders, files in os.walk(path):
        if RESULTS in files or JOURNAL in files:
            folders.clear()
            yield Path(place)
        folders.sort()


def _read_all(folders: Sequence[tuple[str, Path]]) -> Iterable[BoardRun | str]:
    """Each run by its name and folder, or why it cannot be read."""
    if len(folders) <= _FEW:
        return [_read(folder) for folder in folders]
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 16)
    runs: list[BoardRun | str] = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for run in pool.map(_read, folders):
            runs.append(run)
            if sys.stderr.isatty():
                print(f"\r{len(runs):,} of {len(folders):,} runs read", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return runs


def _read(named_folder: tuple[str, Path]) -> BoardRun | str:
    name, folder = named_folder
    try:
        run = read_run(folder)
    except InputError as error:
        return str(error)
    entries = entries_of(asked_of(run.records), run.manifest)
    return BoardRun(name, folder, entries, run.manifest, _why_not_ranked(run, entries))


def _why_not_ranked(run: Run, entries: Sequence[BoardEntry]) -> str:
    if not entries:
        return "has no trials"
    if early := interrupted(len(run.records), run.planned):
        return early
    if {name for entry in entries for name, count in entry.overall.counts.items() if count} <= set(FAULTS):
        return f"all of its trials failed ({failed_words(entries)})"
    if _object(run.manifest.get("options")).get("adaptive"):
        claims = [clause for statement in run.report.adaptive if (clause := adaptive_clause(statement))]
        asked = "--adaptive decided by its answers how often each length was asked, so that it has no score to rank"
        return f"{asked}{': it ' if claims else ''}{'; '.join(claims)}"
    return ""


_MODEL = ("weights_sha256", "dtype", "quantization", "attn_implementation")
_OPTIONS = ("model_arg", "server_id", "serve", "serve_arg")


def models_of(runs: Sequence[BoardRun], page: Path, *, newest: bool) -> tuple[list[ModelRun], list[str]]:
    """Return the models of runs, and sentences on what was left out. `newest`: of several runs of one model, weights
    and options that asked the same, the last alone; `page`: the folder that links are written from.
    """
    pairs = [(run, model) for run in runs for model in run.models]
    kept = _newest(pairs) if newest else pairs
    seen = Counter((model, task) for run, model in kept for task in run.entries_of(model))
    twice = {model for (model, _), count in seen.items() if count > 1}
    found, older = list[ModelRun](), len(pairs) - len(kept)
    left_out = f"{older:,} older runs of the same models and options are left out (--every-run shows them)"
    lines = [left_out] if older else []
    for run, model in kept:
        name = one_line(model) if model not in twice else f"{one_line(model)} · {one_line(run.name)}"
        found.append(ModelRun(name, run.name, model, _link(run, page), run.entries_of(model), run.why))
        if run.why:
            lines.append(f"{name} is not ranked: {run.why}")
    lines += [f"{one_line(run.name)} {run.why}" for run in runs if not run.entries]
    return found, lines


def _newest(pairs: Sequence[tuple[BoardRun, str]]) -> list[tuple[BoardRun, str]]:
    groups = grouped(pairs, lambda pair: _configuration(*pair))
    parts = [part for group in groups.values() for part in comparable_groups(group, lambda pair: _first_entry(*pair))]
    return [max(part, key=lambda pair: (not pair[0].why, _time(pair[0]), pair[0].name)) for part in parts]


def _first_entry(run: BoardRun, model: str) -> BoardEntry:
    """Of all tasks, where there are several."""
    return next(iter(run.entries_of(model).values()))


def _configuration(run: BoardRun, model: str) -> str:
    """What makes a run of a model another one of the same."""
    facts, options = _object(_object(run.manifest.get("models")).get(model)), _object(run.manifest.get("options"))
    asked = sorted((task, entry.cells, str(entry.options)) for task, entry in run.entries_of(model).items())
    model_facts = [model, {name: facts.get(name) for name in _MODEL}, {name: options.get(name) for name in _OPTIONS}]
    return json.dumps([*model_facts, asked], sort_keys=True, default=str)


def _time(run: BoardRun) -> float:
    when = began(run.manifest)
    return when.timestamp() if when else 0.0


def _link(run: BoardRun, page: Path) -> str:
    """From the page's folder to the run's report; empty where it has none, or lies on another drive."""
    report = run.folder / "report.html"
    if not report.is_file():
        return ""
    try:
        return quote(Path(os.path.relpath(report.resolve(), page.resolve())).as_posix())
    except ValueError:
        return ""


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
