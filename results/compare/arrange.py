"""The runs that a command was given: read, in the order asked for, by the names that they are shown by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.read_run import Run, read_run
from needlework.results.records.order import began, step_of

Order = Literal["given", "name", "date", "step"]
ORDERS: tuple[Order, ...] = ("given", "name", "date", "step")


def arranged(paths: Sequence[Path], order: Order = "given", labels: Sequence[str] | None = None) -> dict[str, Run]:
    """Read runs, and return them by name: the label given, else the folder's name, else the path. Raises `InputError`.

    `labels`: one for each path, in the order of the paths.
    """
    runs = [_read(path) for path in paths]
    names = list(labels) if labels else _names(paths, runs)
    if len(names) != len(runs):
        raise InputError("--labels", ",".join(names), f"give one for each of the {len(runs)} runs")
    if not labels and len(names) == 2 and names[0] == names[1]:
        names[1] += " (again)"  # a run against itself differs in nothing: a check of the command
    if len(set(names)) < len(names):
        option, what = ("--labels", "one label") if labels else ("runs", "one of them")
        raise InputError(option, ", ".join(names), f"{what} is given twice")
    ranked = sorted(zip(names, runs, strict=True), key=lambda pair: _place(order, *pair))
    return dict(ranked)


def parse_labels(text: str) -> tuple[str, ...]:
    """`base,KV q8_0`: the labels, without space around them."""
    return tuple(part.strip() for part in text.split(","))


def models_of(run: Run) -> list[str]:
    """The models that a run asked, sorted."""
    return sorted({record["model"] for record in run.records})


def _read(path: Path) -> Run:
    run = read_run(path)
    if not run.records:
        raise InputError("run", path, "holds no trials; there is nothing to compare")
    return run


def _names(paths: Iterable[Path], runs: Sequence[Run]) -> list[str]:
    alike = len({run.name for run in runs}) < len(runs)
    return [str(path) if alike else run.name for path, run in zip(paths, runs, strict=True)]


def _place(order: Order, name: str, run: Run) -> tuple[float, str]:
    """Sort key of a run; runs of equal keys stay as they were given."""
    if order == "given":
        return 0.0, ""
    if order == "name":
        return 0.0, name
    if order == "date":
        when = began(run.manifest)
        if when is None:
            raise InputError("--order", order, f"{name} has no manifest.json that says when it began; use step or name")
        return when.timestamp(), ""
    step = step_of([name, *models_of(run)])
    if step is None:
        raise InputError("--order", order, f"no number in {name!r} or in its model's name; use date or name")
    return step, ""
