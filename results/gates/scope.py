"""Whether a gate asks about any cell of a run: known before the first request, as soon as its cells are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.haystack_fixtures.tasks.arms.controls import split_label
from needlework.haystack_fixtures.tasks.arms.retrievers import arms_of
from needlework.haystack_fixtures.tasks.catalogue import Series, controls_of
from needlework.results.gates.gate import OPTION, Gate, groups_of
from needlework.results.records.controls import retriever_of
from needlework.results.records.record import Record
from needlework.results.style.text import length_labels

_FIELD = re.compile(r"(\w+)\s*[<>=]")
_SHOWN = 8


def check_scopes(gates: Sequence[Gate], grid: Sequence[Series], selected: Collection[str] | None = None) -> None:
    """Refuse a gate that no trial of the command can be in the scope of. Raises `InputError`.

    `grid`: of the whole command, whatever part of it this shard asks. `selected`: the ids of the cells that are asked,
    where `-k` or a node id may leave some out; `None`: all.
    """
    if not gates:
        return
    planned = [trial for series in grid for trial in _trials(series, selected)]
    for gate in gates:
        # Which tests ask the same cells, so that records name them (`niah@test_own`), is known at the end alone.
        if "@" not in gate.text and not groups_of(gate, planned):
            remedy = f"no cell of this run is in its scope; the run has {_has(gate, planned)}"
            raise InputError(OPTION, gate.text, remedy)


def _trials(series: Series, selected: Collection[str] | None) -> Iterator[Record]:
    """What records of these cells will say that a scope can ask for."""
    arms, controls = arms_of(series.task, series.suite), controls_of(series.task, series.suite)
    for cell in series.cells if selected is None else (cell for cell in series.cells if cell.id in selected):
        label, retriever = split_label(cell.needle, arms)
        control = "" if retriever else split_label(label, controls)[1]
        trial: dict[str, Any] = {
            "task": cell.task, "needle": cell.needle, "model": series.model, "language": series.suite.language,
            "length": cell.length, "depth": cell.depth, "reference": {"retriever": retriever, "control": control},
        }  # fmt: skip
        yield cast("Record", trial)


def _has(gate: Gate, planned: Sequence[Record]) -> str:
    """The run's own values of what the gate's scope names."""
    fields = dict.fromkeys(_FIELD.findall(gate.text.partition("[")[2])) or {"retriever": None}
    return "; ".join(f"{field} {_values(field, planned)}" for field in fields)


def _values(field: str, planned: Sequence[Record]) -> str:
    if field == "length":
        names = length_labels(sorted({record["length"] for record in planned}))
    elif field == "depth":
        depths = {record["depth"] for record in planned}
        names = tuple(depth_label(depth) for depth in sorted(depth for depth in depths if depth is not None))
    elif field == "retriever":
        names = tuple({retriever_of(record): None for record in planned if retriever_of(record)})
    else:
        names = tuple(dict.fromkeys(record[field] for record in planned))  # type: ignore[literal-required]
    return ", ".join([*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])]) or "none"
