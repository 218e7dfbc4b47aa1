"""The run that `--baseline` names: its scores on the trials of this run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.results.records.record import SCORED, Record
from needlework.results.records.tests_of_cells import label_of
from needlework.results.statistics.joining import Identity, joined, prompts_match

OPTION = "--baseline"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run's records, by what the trials of two runs are joined on. `by_model`: each model is its own baseline."""

    path: Path
    records: Mapping[Identity, Record]
    by_model: bool

    def score_of(self, record: Record) -> float | None:
        """The baseline's score on the same trial; `None` where it has none."""
        found = self.records.get(self._identity(record))
        return found["score"] if found is not None and found["outcome"] in SCORED else None

    def check(self, record: Record) -> None:
        """Refuse a baseline that was asked something else under the same name. Raises `InputError`."""
        found = self.records.get(self._identity(record))
        if found is not None and prompts_match(found, record) is False:
            raise InputError(
                OPTION, self.path,
                f"its prompt of {record['id']} is another one than this run's; needlework compare says which part"
                " differs, and a baseline made with this run's options has the same",
            )  # fmt: skip

    def has(self, model: str, cell: Cell, seed: int) -> bool:
        """Whether the baseline scored this trial."""
        found = self.records.get(
            ((model if self.by_model else "", cell.task, cell.needle), cell.length, cell.depth, cell.repeat, seed)
        )
        return found is not None and found["outcome"] in SCORED

    @property
    def repeats(self) -> int:
        """One more than its highest repeat."""
        return 1 + max(repeat for _, _, _, repeat, _ in self.records)

    def _identity(self, record: Record) -> Identity:
        family = (record["model"] if self.by_model else "", record["task"], record["needle"])
        return family, record["length"], record["depth"], record["repeat"], record.get("seed")


def load_baseline(path: Path, cells: Iterable[tuple[str, Cell]], seed: int) -> Baseline:
    """Read the baseline of a run that has these (model, cell). Raises `InputError` where they share no trial."""
    from needlework.results.files.json_file import read_json

    file = path / "results.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(OPTION, path, "has no results.json; give a finished run's folder or its results.json")
    try:
        records = read_json(file)
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None
    except InputError as error:
        raise InputError(OPTION, path, str(error)) from None
    trials = [
        {
            "id": cell.id, "model": model, "task": cell.task, "needle": cell.needle, "length": cell.length,
            "depth": cell.depth, "repeat": cell.repeat, "seed": seed,
        }
        for model, cell in cells
    ]  # fmt: skip
    labels = {label for record in records if (label := label_of(record["task"]))}
    trials += [{**trial, "task": f"{trial['task']}@{label}"} for trial in trials for label in sorted(labels)]
    try:
        index, _, _ = joined(records, cast("list[Record]", trials))
    except InputError as error:
        raise InputError(OPTION, path, f"cannot be paired (A: the baseline, B: this run): {error}") from None
    return Baseline(path, index, by_model=any(model for (model, _, _), *_ in index))
