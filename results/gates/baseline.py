"""The run that `--baseline` names: its scores on the trials of this run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.results.records.record import SCORED, Record
from needlework.results.records.tests_of_cells import label_of
from needlework.results.statistics.comparison.joining import Identity, joined, prompts_match

OPTION = "--baseline"


@dataclass(frozen=True)
class Baseline:
    """A run's records, by what the trials of two runs are joined on.

    `by_model`: each model is its own baseline; else every model of the run has the same one. `manifest`: what it was
    made of, empty where nobody knows.
    """

    path: Path
    records: Mapping[Identity, Record]
    by_model: bool
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def twin_of(self, record: Record) -> Record | None:
        """The baseline's record of the same trial; `None` where it has none."""
        return self.records.get(self._identity(record))

    def score_of(self, record: Record) -> float | None:
        """The baseline's score on the same trial; `None` where it has none."""
        found = self.twin_of(record)
        return found["score"] if found is not None and found["outcome"] in SCORED else None

    def check(self, record: Record) -> None:
        """Refuse a baseline that was asked something else under the same name. Raises `InputError`."""
        found = self.twin_of(record)
        if found is not None and prompts_match(found, record) is False:
            raise InputError(
                OPTION, self.path,
                f"its prompt of {record['id']} is another one than this run's; needlework compare says which part"
                " differs, and a baseline made with this run's options has the same",
            )  # fmt: skip

    def has(self, model: str, cell: Cell, seed: int) -> bool:
        """Whether the baseline scored this trial, in whichever test."""
        named = model if self.by_model else ""
        tasks = [cell.task, *(f"{cell.task}@{label}" for label in self.labels)]
        at = cell.length, cell.depth, cell.repeat, seed
        twins = [self.records.get(((named, task, cell.needle), *at)) for task in tasks]
        return any(twin is not None and twin["outcome"] in SCORED for twin in twins)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The tests that its records' tasks name, where several asked the same."""
        return tuple(sorted({label for (_, task, _), *_ in self.records if (label := label_of(task))}))

    @property
    def repeats(self) -> int:
        """One more than its highest repeat."""
        return 1 + max(repeat for _, _, _, repeat, _ in self.records)

    def _identity(self, record: Record) -> Identity:
        family = (record["model"] if self.by_model else "", record["task"], record["needle"])
        return family, record["length"], record["depth"], record["repeat"], record.get("seed")


def load_baseline(path: Path, cells: Iterable[tuple[str, Cell]], seed: int) -> Baseline:
    """Read the baseline of a run that has these (model, cell). Raises `InputError` where they share no trial.

    A run of several models has a baseline of one, which each of them is compared with, or of the same models.
    """
    from needlework.results.files.read_run import read_run

    file = path / "results.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(OPTION, path, "has no results.json; give a finished run's folder or its results.json")
    try:
        run = read_run(file)
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None
    except InputError as error:
        raise InputError(OPTION, path, str(error)) from None
    before = {record["model"] for record in run.records}
    only = next(iter(before)) if len(before) == 1 else None
    trials = {
        (only or model, replace(cell, model="")): {
            "id": cell.id, "model": only or model, "task": cell.task, "needle": cell.needle, "length": cell.length,
            "depth": cell.depth, "repeat": cell.repeat, "seed": seed,
        }
        for model, cell in cells
    }  # fmt: skip
    asked = list(trials.values())
    labels = {label for record in run.records if (label := label_of(record["task"]))}
    asked += [{**trial, "task": f"{trial['task']}@{label}"} for trial in asked for label in sorted(labels)]
    try:
        index, _, _ = joined(run.records, cast("list[Record]", asked))
    except InputError as error:
        raise InputError(OPTION, path, f"cannot be paired (A: the baseline, B: this run): {_remedy(error)}") from None
    return Baseline(path, index, by_model=any(model for (model, _, _), *_ in index), manifest=run.manifest)


def _remedy(error: InputError) -> str:
    several = "several models" in str(error)
    return f"{error}{'; a baseline of one model serves each model of a run' if several else ''}"
