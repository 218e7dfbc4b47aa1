"""Gates: conditions on a run's scores that decide the exit code. What they say, and of which records.

    score >= 0.9
    lower_bound >= 85% [task=niah, length<=32k, depth=40..60] per length
    drop <= 0.02
    not worse [length<=4k] per length
    not worse than 0.02

`score` is the mean score, `lower_bound` the low end of its interval, `drop` how much lower the mean score is than that
of a baseline run on the same trials. `not worse` passes unless the run is shown to be worse than its baseline, or worse
by more than so much. A grain (`per length`, `depth`, `cell`, `task`, `needle`, `model`) asks the
condition of every group. `verdicts` judges them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, cast, get_args

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.haystack_fixtures.grid.spacing import parse_tokens
from needlework.results.records.controls import control_of, retriever_of
from needlework.results.records.record import Record
from needlework.results.records.tests_of_cells import label_of, task_of
from needlework.results.statistics.panels import depth_order

OPTION = "--gate"
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
}
_REST = r"\s*(?:\[(?P<scope>[^\]]*)\])?\s*(?:per\s+(?P<grain>\w+))?"
_GATE = re.compile(r"(?P<metric>\w+)\s*(?P<compare>>=|<=|>|<)\s*(?P<limit>[\d.]+\s*%?)" + _REST)
_NOT_WORSE = re.compile(r"(?P<metric>not[ _]worse)(?:\s+than\s+(?P<limit>[\d.]+\s*%?))?" + _REST)
_TERM = re.compile(r"(?P<field>\w+)\s*(?P<compare>>=|<=|=|>|<)\s*(?P<value>[^,]+)")
_GRAINS: dict[str, Callable[[Record], str]] = {
    "length": lambda r: f"length {r['length']}",
    "depth": lambda r: f"depth {depth_label(r['depth'])}",
    "cell": lambda r: f"{r['task']} {r['needle']} length {r['length']} depth {depth_label(r['depth'])}",
    "task": lambda r: f"task {r['task']}",
    "needle": lambda r: f"needle {r['needle']}",
    "model": lambda r: f"model {r['model']}",
}
_WORDS = ("task", "needle", "model", "language", "retriever")
Metric = Literal["score", "lower_bound", "drop", "not worse"]
Test = Callable[[Record], bool]


@dataclass(frozen=True, slots=True)
class Gate:
    """A parsed condition. `limit` is 0..1."""

    text: str
    metric: Metric
    compare: str
    limit: float
    scope: tuple[Test, ...]
    grain: str | None

    @property
    def paired(self) -> bool:
        """Whether it asks about the difference to a baseline."""
        return self.metric in ("drop", "not worse")


def parse_gate(text: str) -> Gate:
    """Read a gate. Raises `InputError` naming what is wrong."""
    match = _NOT_WORSE.fullmatch(" ".join(text.split())) or _GATE.fullmatch(text.strip())
    if match is None:
        raise InputError(OPTION, text, 'write "score >= 0.9 [length<=32k, depth=40..60] per length" or "not worse"')
    metric = match["metric"].replace("_worse", " worse")
    if metric not in get_args(Metric):
        raise InputError(OPTION, metric, 'use score, lower_bound, drop, or "not worse" without a number')
    if match["grain"] is not None and match["grain"] not in _GRAINS:
        raise InputError(OPTION, f"per {match['grain']}", f"use per {', '.join(_GRAINS)}")
    compare, limit = (
        ("<=", _limit(match["limit"] or "0")) if metric == "not worse" else (match["compare"], _limit(match["limit"]))
    )
    _check_provable(text.strip(), metric, compare, limit)
    scope = tuple(_term(text, term) for term in (match["scope"] or "").split(",") if term.strip())
    return Gate(text.strip(), cast(Metric, metric), compare, limit, scope, match["grain"])


def _limit(text: str) -> float:
    """Read `0.9`, `90%` or `90 %`. Raises `InputError`."""
    number = text.replace(" ", "")
    try:
        limit = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        limit = -1.0
    if not 0 <= limit <= 1:
        raise InputError(OPTION, text, "scores are 0..1, or percents with %")
    return limit


def _check_provable(text: str, metric: str, compare: str, limit: float) -> None:
    """Refuse what no run could ever show."""
    floor = compare in (">=", ">")
    if metric == "lower_bound" and not floor:
        raise InputError(OPTION, text, "a lower bound is a floor: lower_bound >= 0.9; for a ceiling use score <= 0.1")
    if metric == "drop" and floor:
        raise InputError(OPTION, text, "a drop has a ceiling: drop <= 0.02")
    if metric in ("score", "lower_bound") and limit == (1 if floor else 0):
        remedy = "score >= 0.99" if floor else "score <= 0.01"
        raise InputError(OPTION, text, f"no number of trials shows a score of exactly {limit:g}; write {remedy}")


def _term(gate: str, text: str) -> Test:
    match = _TERM.fullmatch(text.strip())
    if match is None or match["field"] not in (*_WORDS, "length", "depth"):
        raise InputError(
            OPTION, text.strip(), f"a scope has terms like length<=32k, depth=40..60, {', '.join(_WORDS)}=NAME"
        )
    field, compare, value = match["field"], match["compare"], match["value"].strip()
    if field in _WORDS:
        if compare != "=":
            raise InputError(OPTION, text.strip(), f"use {field}=NAME")
        if field == "retriever":
            return lambda record: retriever_of(record) == value
        if field == "task":
            return lambda record: value in (record["task"], task_of(record["task"]))
        return lambda record: record[field] == value  # type: ignore[literal-required]
    low, dots, high = value.partition("..")
    bounds = [_number(gate, field, part) for part in ((low, high) if dots else (low,))]
    if dots and compare != "=":
        raise InputError(OPTION, text.strip(), f"a range is written {field}={value}")

    def test(record: Record) -> bool:
        found = record["length"] if field == "length" else record["depth"]
        if found is None:
            return False
        if dots:
            return bounds[0] <= found <= bounds[1]
        return found == bounds[0] if compare == "=" else COMPARE[compare](found, bounds[0])

    return test


def _number(gate: str, field: str, text: str) -> float:
    if field == "length":
        return float(parse_tokens(OPTION, text))
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        raise InputError(OPTION, gate, f"{text!r} is not a percent") from None


def groups_of(gate: Gate, records: Iterable[Record], each_model: bool = False) -> dict[str, list[Record]]:
    """The records in the gate's scope, by the groups that it asks of, shortest first; `all` without a grain.

    `each_model`: the models are asked one by one, whatever the grain.

    Controls are in no scope but one that names their needle (`[needle=code_absent]`), and what was retrieved in none
    but one that names the retriever (`[retriever=bm25]`). Tests that ask the same cells are groups of their own.
    """
    words = gate.text.replace(" ", "")
    groups: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record["length"], depth_order(record["depth"]))):
        measured = not control_of(record) or f"needle={record['needle']}" in words
        measured = measured and (not retriever_of(record) or "retriever=" in words)
        if measured and all(test(record) for test in gate.scope):
            group = "all" if gate.grain is None else _GRAINS[gate.grain](record)
            if each_model and gate.grain != "model":
                group = f"{'' if gate.grain is None else f'{group} of '}model {record['model']}"
            test = label_of(record["task"])
            if test and gate.grain not in ("task", "cell"):
                group += f" of {test}"
            groups.setdefault(group, []).append(record)
    return groups
