"""Collects the runs that are compared: records by name, or the scores of each model."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.results.files.read_run import Run, file_of_run, read_run
from needlework.results.records.samples import began, grouped, object_of, step_of
from needlework.results.report.boards import failed_words
from needlework.results.statistics.comparison.provenance import weights_lines
from needlework.results.statistics.leaderboard import BoardEntry, ModelRun, entries_of
from needlework.results.statistics.run_followup import FAULTS
from needlework.results.statistics.run_report import interrupted
from needlework.results.style import one_line

Order = Literal["given", "name", "date", "step"]
_MODEL = ("weights_sha256", "dtype", "quantization", "attn_implementation")
_OPTIONS = ("model_arg", "server_id", "serve", "serve_arg")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def collect_runs(paths: Sequence[Path], order: Order = "given", labels: Sequence[str] | None = None) -> dict[str, Run]:
    """Read runs, and return them by label, else folder name, else path. Raises `InputError`.

    `labels`: one for each path, in the order of the paths.
    """
    runs = [read_run(path) for path in paths]
    for path, run in zip(paths, runs, strict=True):
        if not run.records:
            raise InputError("run", path, "holds no trials; there is nothing to compare")
    names = list(labels) if labels else [run.name for run in runs]
    if len(names) != len(runs):
        raise InputError("--labels", ",".join(names), f"give one for each of the {len(runs)} runs")
    if not labels and len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if not labels and len(names) == 2 and names[0] == names[1]:
        names[1] += " (again)"  # a run against itself differs in nothing: a check of the command
    if len(set(names)) < len(names):
        option, what = ("--labels", "one label") if labels else ("runs", "one of them")
        raise InputError(option, ", ".join(names), f"{what} is given twice")
    pairs = list(zip(names, runs, strict=True))
    if order == "name":
        pairs.sort(key=lambda pair: pair[0])
    elif order != "given":
        pairs.sort(key=lambda pair: run_time(order, pair[0], pair[1].models, pair[1].manifest)[0])
    return dict(pairs)


def run_time(order: str, name: str, models: Sequence[str], manifest: Mapping[str, Any]) -> tuple[float, str]:
    """Return the date or step of a run, as a number and in words. Raises `InputError` without one."""
    if order == "date":
        when = began(manifest)
        if when is None:
            raise InputError("--order", order, f"{name} has no manifest.json that says when it began; use step")
        return when.timestamp(), f"{when:%Y-%m-%d %H:%M}"
    step = step_of([name, *models])
    if step is None:
        raise InputError("--order", order, f"no number in {name!r} or in its model's name; use date")
    return step, f"step {step:g}" if step < 1e6 else f"step {step:.4g}"


def collect_models(paths: Sequence[Path], page: Path, *, every_run: bool) -> tuple[list[ModelRun], list[str]]:
    """Return the models of runs, and of all runs in and below folders; and sentences on what was left out.

    `page`: the folder that links are written from. Of several runs of one model, weights and options in a folder the
    newest is shown, unless `every_run`. Raises `InputError` where a run that was named itself cannot be read.
    """
    folders = _run_folders(paths)
    counts = Counter(name for name, _ in folders.values())
    names = [name if counts[name] == 1 else str(folder) for folder, (name, _) in folders.items()]
    runs, faults = list[ModelRun](), []
    for run_name, (folder, (name, is_named)) in zip(names, folders.items(), strict=True):
        models = _read(run_name, folder)
        if not isinstance(models, str):
            runs += models
        elif is_named:
            raise InputError("RUN", folder, models)
        else:
            faults.append(f"{name} cannot be read: {models}")
    shown = runs if every_run or all(is_named for _, is_named in folders.values()) else _newest(runs)
    seen = Counter((run.model, task) for run in shown for task in run.entries)
    twice = {model for (model, _), count in seen.items() if count > 1}
    shown = [
        replace(
            run,
            name=one_line(run.model if run.model not in twice else f"{run.model} · {run.run}"),
            link=_link(run.folder, page),
        )
        for run in shown
    ]
    notes = weights_lines({run.run: run.manifest for run in shown})
    if older := len(runs) - len(shown):
        notes.append(f"{older:,} older runs of the same models and options are left out (--every-run shows them)")
    return shown, [*notes, *(f"{run.name} is not ranked: {run.why}" for run in shown if run.why), *faults]


def _run_folders(paths: Sequence[Path]) -> dict[Path, tuple[str, bool]]:
    """The folder of each run with its name, and whether it was named itself, not by a folder around it."""
    folders: dict[Path, tuple[str, bool]] = {}
    for path in paths:
        if not path.exists():
            raise InputError("RUN", path, "does not exist; give a run's folder, or a folder of runs")
        if path.is_file() or file_of_run(path):
            folder = (path if path.is_dir() else path.parent).resolve()
            folders.setdefault(folder, (folder.name, True))
        else:
            for folder in _runs_below(path):
                folders.setdefault(folder.resolve(), (str(folder.relative_to(path)), False))
    if not folders:
        raise InputError("RUN", ", ".join(map(str, paths)), "no run there: no folder with a results.json")
    return folders


def _runs_below(path: Path) -> Iterator[Path]:
    """The runs below a folder, sorted; what lies in a run belongs to it."""
    for name, below, _ in os.walk(path):
        if file_of_run(folder := Path(name)):
            below.clear()
            yield folder
        below.sort()


def _read(name: str, folder: Path) -> list[ModelRun] | str:
    """The models of a run, or why it cannot be read."""
    try:
        run = read_run(folder)
    except InputError as error:
        return str(error)
    entries = entries_of(run.records, run.manifest)
    why = _why_not_ranked(run, entries)
    models = grouped(entries, lambda entry: entry.model)
    return [
        ModelRun(model, name, model, {entry.task: entry for entry in part}, why, folder, run.manifest)
        for model, part in models.items()
    ] or "holds no trials"


def _why_not_ranked(run: Run, entries: Sequence[BoardEntry]) -> str:
    if early := interrupted(len(run.records), run.planned):
        return early
    if {name for entry in entries for name, count in entry.overall.counts.items() if count} <= set(FAULTS):
        return f"all of its trials failed ({failed_words(entries)})"
    if object_of(run.manifest.get("options")).get("adaptive"):
        return "--adaptive decided by its answers how often each length was asked, so that it has no score to rank"
    return ""


def _newest(runs: Sequence[ModelRun]) -> list[ModelRun]:
    """The last run of each model, weights and options with the same questions; of models that have none all runs."""
    groups = grouped((run for run in runs if not run.why), _configuration).values()
    newest = [max(group, key=lambda run: (began(run.manifest) or _LONG_AGO, run.run)) for group in groups]
    ranked = {run.model for run in newest}
    return [*newest, *(run for run in runs if run.why and run.model not in ranked)]


def _configuration(run: ModelRun) -> str:
    """The configuration of a model's run; runs of the same one replace each other."""
    facts = object_of(object_of(run.manifest.get("models")).get(run.model))
    options = object_of(run.manifest.get("options"))
    model = [run.model, [facts.get(name) for name in _MODEL], [options.get(name) for name in _OPTIONS]]
    cells = sorted((task, entry.cells, str(entry.options)) for task, entry in run.entries.items())
    return json.dumps([model, cells], sort_keys=True, default=str)


def _link(folder: Path, page: Path) -> str:
    """The link from the page to a run's report; empty if it has none."""
    report = folder / "report.html"
    return quote(os.path.relpath(report.resolve(), page.resolve())) if report.is_file() else ""
