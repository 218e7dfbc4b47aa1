"""Records as the list needs them: what one filters by as texts, and what one searches in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.records.controls import control_of
from needlework.results.records.record import OutcomeName, Record
from needlework.results.statistics.panels import Trial, depth_order, trial_of

NO_CONTROL = "none"
# What a leaner or older file may lack.
_PLAIN: Mapping[str, Any] = {"seed": 0, "scorer_version": 0} | dict.fromkeys(
    ("nodeid", "language", "scorer", "why", "question", "answer"), ""
)
_BESIDE = ("task", "needle", "length", "depth", "repeat")


@dataclass(frozen=True, slots=True)
class Row:
    """One trial of the list. `number`: its place in the run's order; `key`: its name in addresses, unique in its run.

    `same`: its model, task, needle, language, length, depth and control, as texts. `flags`: flags of the prompt, of the
    answer, and reasons why it is invalid. `text`: what a search looks through, casefolded. `trial`: for
    summaries.
    """

    number: int
    key: str
    record: Record
    same: Mapping[str, str]
    flags: frozenset[str]
    text: str
    trial: Trial

    @property
    def outcome(self) -> OutcomeName:
        """What became of the trial."""
        return self.record["outcome"]

    @property
    def score(self) -> float | None:
        """0..1; none where the outcome has no score."""
        return self.record["score"]

    @property
    def cell(self) -> tuple[Any, ...]:
        """What a trial of another run must share to be the same one, whatever the model."""
        return tuple(cast("Mapping[str, Any]", self.record)[name] for name in _BESIDE)


def rows_of(records: Iterable[Record]) -> tuple[Row, ...]:
    """The rows of a run's records: by model, task, needle, length, depth and repeat."""
    rows: list[Row] = []
    taken = {""}
    for number, found in enumerate(sorted(records, key=_order)):
        record = cast("Record", {**_PLAIN, **found})
        known = record["id"].isprintable() and record["id"] not in taken
        key = record["id"] if known else f"#{number}"
        taken.add(key)
        rows.append(Row(number, key, record, _same(record), _flags(record), _text(record), trial_of(record)))
    return tuple(rows)


def _order(record: Record) -> tuple[Any, ...]:
    at = (record["model"], record["task"], record["needle"], record["length"], depth_order(record["depth"]))
    return (*at, record["repeat"], record["id"])


def _same(record: Record) -> dict[str, str]:
    return {
        "model": record["model"],
        "task": record["task"],
        "needle": record["needle"],
        "language": record["language"],
        "length": str(record["length"]),
        "depth": depth_label(record["depth"]),
        "control": control_of(record) or NO_CONTROL,
    }


def _flags(record: Record) -> frozenset[str]:
    details = record["details"]
    return frozenset((*details.get("flags", ()), *details.get("invalid", ()), *record["prompt"].get("flags", ())))


def _text(record: Record) -> str:
    texts = (
        record["id"], record["question"], *record["expected"], record["answer"], record["response"].get("text", ""),
        record["why"],
    )  # fmt: skip
    return "\n".join(texts).casefold()
