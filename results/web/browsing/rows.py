"""Records as the list needs them: what one filters by as texts, and what one searches in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.results.records.controls import control_of, retriever_of
from needlework.results.records.record import OutcomeName, Record
from needlework.results.statistics.panels import Trial, depth_order, trial_of
from needlework.results.style.text import natural

# What a question's context is, and what people call it, in the order in which they are listed.
CONTEXTS: Mapping[str, str] = {
    "whole": "everything",
    "bm25": "BM25 search",
    "dense": "embedding search",
    "focused": "the answer alone",
    "near": "a similar document instead",
    "absent": "the answer taken out",
}
WHOLE = "whole"
_RANKS = {name: rank for rank, name in enumerate(CONTEXTS)}
_TASK_RANKS = {name: rank for rank, name in enumerate(TASKS)}
# What a leaner or older file may lack.
_PLAIN: Mapping[str, Any] = {"seed": 0, "scorer_version": 0} | dict.fromkeys(
    ("nodeid", "language", "scorer", "why", "question", "answer"), ""
)
_BESIDE = ("task", "needle", "length", "depth", "repeat")


@dataclass(frozen=True, slots=True)
class Row:
    """One trial of the list. `number`: its place in the run's order; `key`: its name in addresses, unique in its run.

    `same`: its model, task, needle, language, length, depth and context (of `CONTEXTS`), as texts. `flags`: of the
    prompt, of the answer, and reasons why it is invalid. `text`: what a search looks through, casefolded. `trial`:
    for summaries.
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
    """The rows of a run's records: by model, task, context, needle, length, depth and repeat."""
    rows: list[Row] = []
    taken = {""}
    for number, found in enumerate(sorted(records, key=_order)):
        record = cast("Record", {**_PLAIN, **found})
        # An id is part of an address.
        known = record["id"].isprintable() and not {"/", "\\"} & set(record["id"]) and record["id"][:1] != "."
        known = known and record["id"] not in taken
        key = record["id"] if known else f"#{number}"
        taken.add(key)
        rows.append(Row(number, key, record, _same(record), _flags(record), _text(record), trial_of(record)))
    return tuple(rows)


def _order(record: Record) -> tuple[Any, ...]:
    context = _context(record)
    task = (_TASK_RANKS.get(record["task"], len(_TASK_RANKS)), natural(record["task"]))
    asked = (natural(record["model"]), *task, _RANKS.get(context, len(_RANKS)), context, natural(record["needle"]))
    return (*asked, record["length"], depth_order(record["depth"]), record["repeat"], record["id"])


def _same(record: Record) -> dict[str, str]:
    return {
        "model": record["model"],
        "task": record["task"],
        "needle": record["needle"],
        "language": record["language"],
        "length": str(record["length"]),
        "depth": depth_label(record["depth"]),
        "context": _context(record),
    }


def says_nothing_is_there(record: Record) -> bool:
    """Whether right is to say that the answer is not there."""
    reference = record["reference"]
    return isinstance(reference, dict) and reference.get("absent") is True


def _context(record: Record) -> str:
    if retriever := retriever_of(record):
        return retriever
    if says_nothing_is_there(record):
        return "near" if record["reference"].get("arm") == "near" else "absent"
    return control_of(record) or WHOLE


def _flags(record: Record) -> frozenset[str]:
    details = record["details"]
    return frozenset((*details.get("flags", ()), *details.get("invalid", ()), *record["prompt"].get("flags", ())))


def _text(record: Record) -> str:
    texts = (
        record["id"], record["question"], *record["expected"], record["answer"], record["response"].get("text", ""),
        record["why"],
    )  # fmt: skip
    return "\n".join(texts).casefold()
