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
from needlework.results.files.read_run import RESULTS, read_run
from needlework.results.records.run_folder import JOURNAL
from needlework.results.records.samples import began, task_of
from needlework.results.statistics.leaderboard.boards import Candidate
from needlework.results.statistics.leaderboard.entries import BoardEntry, comparable_groups, entries_of
from needlework.results.statistics.panels import asked_of
from needlework.results.statistics.run_followup import FAULTS
from needlework.results.statistics.run_report import interrupted
from needlework.results.style import one_line
from needlework.results.tables.leaderboard import failed_words

_FEW = 4  # runs that are read here; more are shared among processes


@dataclass(frozen=True, slots=True)
class BoardRun:
    """A run as boards know it. `name`: of its folder, below the folder that was given; `why`: why it is not whole."""

    name: str
    folder: Path
    entries: tuple[BoardEntry, ...]
    manifest: Mapping[str, Any]
    why: str


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
        named = _is_run(path) or path.is_file()
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


def _unanswered(entries: Sequence[BoardEntry]) -> str:
    """Why a run says nothing of its models: all of its trials failed."""
    outcomes = {name for entry in entries for name, count in entry.overall.counts.items() if count}
    failed = outcomes <= set(FAULTS)
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
    entries = entries_of(asked_of(run.records))
    why = interrupted(len(run.records), run.planned) or _unanswered(entries) if entries else "has no trials"
    return BoardRun(name, folder, entries, run.manifest, why)


# Of a suite: how a model is addressed, which is the model's own affair; and what a cell's identity has already.
_ADDRESS = ("template", "system_prompt", "answer_budget", "thinking_budget", "answer_prefix", "length_buffer")
_APART = frozenset(
    {*_ADDRESS, "lengths", "depths", "repeats", "spread", "tokenizer_model", "scorer", "retriever", "questions"}
    | {"documents", "data", "leval_data", "file_list", "data_limit"}
)
_AROUND = ("canary", "cache_policy")  # options of a run that put something beside the text
_MODEL = ("weights_sha256", "dtype", "quantization", "attn_implementation")
_OPTIONS = ("model_arg", "server_id", "serve", "serve_arg")


def candidates_of(runs: Sequence[BoardRun], page: Path, *, newest: bool) -> tuple[list[Candidate], list[str]]:
    """Return the models of runs, and sentences on what was left out. `newest`: of several runs of one model, weights
    and options that asked the same, the last alone; `page`: the folder that links are written from.
    """
    kept, lines = _newest(runs) if newest else ([(run, model) for run in runs for model in _models(run)], [])
    seen = Counter((entry.model, entry.task) for run, model in kept for entry in run.entries if entry.model == model)
    twice = {model for (model, _), count in seen.items() if count > 1}
    found = []
    for run, model in kept:
        entries = {entry.task: entry for entry in _entries(run, model)}
        name = one_line(model) if model not in twice else f"{one_line(model)} · {one_line(run.name)}"
        setting = {task: _setting(run.manifest, task) for task in entries}
        asked = {task: _address(run.manifest, task) for task in entries}
        found.append(Candidate(name, run.name, _link(run, page), entries, setting, run.why, asked))
        if run.why:
            lines.append(f"{name} is not ranked: {run.why}")
    lines += [f"{one_line(run.name)} {run.why}" for run in runs if not run.entries]
    return found, lines


def _newest(runs: Sequence[BoardRun]) -> tuple[list[tuple[BoardRun, str]], list[str]]:
    groups: dict[str, list[tuple[BoardRun, str]]] = {}
    for run in runs:
        for model in _models(run):
            groups.setdefault(_configuration(run, model), []).append((run, model))
    kept, older = [], 0
    same = (part for own in groups.values() for part in comparable_groups(own, lambda pair: _entries(*pair)))
    for own in same:
        own.sort(key=lambda pair: (not pair[0].why, _time(pair[0]), pair[0].name))
        kept.append(own[-1])
        older += len(own) - 1
    lines = [f"{older:,} older runs of the same models and options are left out (--every-run shows them)"] * (older > 0)
    return kept, lines


def _entries(run: BoardRun, model: str) -> list[BoardEntry]:
    return sorted((entry for entry in run.entries if entry.model == model), key=lambda entry: entry.task)


def _models(run: BoardRun) -> list[str]:
    return sorted({entry.model for entry in run.entries})


def _configuration(run: BoardRun, model: str) -> str:
    """What makes a run of a model another one of the same."""
    facts, options = _object(_object(run.manifest.get("models")).get(model)), _object(run.manifest.get("options"))
    asked = sorted(
        (entry.task, entry.cells, _setting(run.manifest, entry.task), str(_address(run.manifest, entry.task)))
        for entry in _entries(run, model)
    )
    own = [model, {name: facts.get(name) for name in _MODEL}, {name: options.get(name) for name in _OPTIONS}, asked]
    return json.dumps(own, sort_keys=True, default=str)


def _time(run: BoardRun) -> float:
    when = began(run.manifest)
    return when.timestamp() if when else 0.0


def _setting(manifest: Mapping[str, Any], task: str) -> str:
    """How a run asked a task, beyond its cells: corpus, prompt and so on. Runs with another one are ranked apart."""
    own = [{name: value for name, value in suite.items() if name not in _APART} for suite in _suites(manifest, task)]
    names = sorted({f"{suite.get('corpus')}/{suite.get('language')}" for suite in own})
    corpora, prompts = _object(manifest.get("corpora")), _object(manifest.get("prompts"))
    texts = [_object(corpora.get(name)).get("sha256") for name in names]
    shapes = sorted({str(prompts.get(f"{suite.get('prompt')}/{suite.get('language')}")) for suite in own})
    return json.dumps([own, texts, shapes], sort_keys=True, default=str)


def _address(manifest: Mapping[str, Any], task: str) -> dict[str, object]:
    """How a run addressed a model in a task: what two rankable runs may differ in, and is told."""
    options, suites = _object(manifest.get("options")), _suites(manifest, task)
    own = {name: next((suite[name] for suite in suites if name in suite), None) for name in _ADDRESS}
    return own | {name: options.get(name) for name in _AROUND}


def _suites(manifest: Mapping[str, Any], task: str) -> list[Mapping[str, Any]]:
    suites = manifest.get("suites")
    return [
        suite
        for suite in (suites if isinstance(suites, list) else ())
        if isinstance(suite, Mapping) and suite.get("task") == task_of(task.partition(" (")[0])
    ]


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
