"""The tasks by name, and the cells of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from haystack_fixtures.cells import Cell, slug
from haystack_fixtures.errors import InputError
from haystack_fixtures.settings import Settings, Suite
from haystack_fixtures.tasks import multi_needle, niah, parallel
from haystack_fixtures.tasks.task import Task

TASKS: dict[str, Task] = {task.name: task for task in (niah.TASK, multi_needle.TASK, parallel.TASK)}

MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class Series:
    """The cells of one needle label of one suite, and one model."""

    suite: Suite
    model: str
    cells: tuple[Cell, ...]


def task_named(name: str) -> Task:
    """A task by name. Raises `InputError`."""
    if name not in TASKS:
        raise InputError("task", name, f"use one of {', '.join(TASKS)}")
    return TASKS[name]


def grid(settings: Settings) -> tuple[Series, ...]:
    """All cells of a run, in their standing order: by suite, needle, model, length, repeat, depth."""
    specs = tuple(dict.fromkeys(settings.model))
    slugs = [slug(spec) if len(specs) > 1 else "" for spec in specs]
    series: dict[tuple[str, str, str], Series] = {}
    count = 0
    for suite in settings.suites:
        task = task_named(suite.task)
        for label in task.labels(suite):
            for spec, model in zip(specs, slugs, strict=True):
                count += len(suite.lengths) * len(task.depths(suite)) * suite.repeats
                if count > MOST_CELLS:
                    raise InputError(
                        "--repeats", suite.repeats, f"the run has over {MOST_CELLS:,} cells; ask fewer lengths, depths"
                    )
                cells = tuple(
                    Cell(suite.task, length, depth, label, repeat, model)
                    for length in suite.lengths
                    for repeat in range(suite.repeats)
                    for depth in task.depths(suite)
                )
                if (suite.task, label, model) in series:
                    raise InputError(
                        "--preset", settings.preset, f"two suites ask {suite.task} with needle {label}: name them apart"
                    )
                series[suite.task, label, model] = Series(suite, spec, cells)
    return tuple(series.values())


def deepest_first(cells: Sequence[Cell]) -> list[Cell]:
    """Order for one process with a model of its own, which keeps the previous prompt's key/value cache.

    Prompts of one haystack are alike up to the needle, also those of other lengths: from the needle that stands
    farthest down to the one at the start, each prompt's whole beginning is still in the cache.
    """
    return sorted(
        cells, key=lambda cell: (cell.model, cell.needle, cell.repeat, -cell.length * (cell.depth or 0.0), -cell.length)
    )


def longest_first(cells: Sequence[Cell]) -> list[Cell]:
    """Order for several workers: a long cell that starts last would keep all others waiting."""
    return sorted(cells, key=lambda cell: -cell.length)
