"""Whether a gate asks about any cell of a run: known before the first request, as soon as its cells are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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


def check_scopes(gates: Sequence[Gate], grid: Sequence[Series], earlier: Callable[[], Sequence[Record]]) -> None:
    """Refuse a gate that no trial of the run can be in the scope of. Raises `InputError`.

    `grid`: of the whole run, whatever part of it this session or shard asks. `earlier`: the records that the run's
    folder has; they are read only where a gate fits nothing of the grid.
    """
    if not gates:
        return
    planned = [trial for series in grid for trial in _trials(series)]
    for gate in gates:
        # Which tests ask the same cells, so that records name them (`niah@test_own`), is known at the end alone.
        if "@" not in gate.text and not groups_of(gate, planned) and not groups_of(gate, earlier()):
            remedy = f"no cell of this run is in its scope; the run has {_has(gate, planned)}"
            raise InputError(OPTION, gate.text, remedy)


def _trials(series: Series) -> Iterator[Record]:
    """What records of these cells will say that a scope can ask for."""
    arms, controls = arms_of(series.task, series.suite), controls_of(series.task, series.suite)
    for cell in series.cells:
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
