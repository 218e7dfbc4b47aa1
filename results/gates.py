"""Gates: conditions on a run's scores that decide the exit code.

    score >= 0.9
    lower_bound >= 85% [task=niah, length<=32k, depth=40..60] per length

`score` is the mean score, `lower_bound` the low end of its 95 % interval. Censored, invalid and failed trials count
against the gate (as misses, where it asks for a floor): they can fail a gate and never help one. A grain (`per length`,
`depth`, `cell`, `task`, `needle`, `model`) asks the condition of every group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from haystack_fixtures.cells import depth_label
from haystack_fixtures.errors import InputError
from haystack_fixtures.grids import parse_tokens
from results.records import Record
from results.summary import Tally, Trial, depth_order, tally, trial_of

OPTION = "--gate"
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
}
_GATE = re.compile(
    r"(?P<metric>\w+)\s*(?P<compare>>=|<=|>|<)\s*(?P<floor>[\d.]+\s*%?)\s*(?:\[(?P<scope>[^\]]*)\])?\s*(?:per\s+(?P<grain>\w+))?"
)
_TERM = re.compile(r"(?P<field>\w+)\s*(?P<compare>>=|<=|=|>|<)\s*(?P<value>[^,]+)")
_GRAINS: dict[str, Callable[[Record], str]] = {
    "length": lambda r: f"length {r['length']}",
    "depth": lambda r: f"depth {depth_label(r['depth'])}",
    "cell": lambda r: f"{r['task']} {r['needle']} length {r['length']} depth {depth_label(r['depth'])}",
    "task": lambda r: f"task {r['task']}",
    "needle": lambda r: f"needle {r['needle']}",
    "model": lambda r: f"model {r['model']}",
}
_WORDS = ("task", "needle", "model", "language")
Test = Callable[[Record], bool]


@dataclass(frozen=True)
class Gate:
    """A parsed condition. `floor` is 0..1."""

    text: str
    metric: str
    compare: str
    floor: float
    scope: tuple[Test, ...]
    grain: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's answer for one group: `value` is `None` where nothing was scored, which never passes."""

    gate: str
    group: str
    passed: bool
    value: float | None
    tally: Tally

    @property
    def line(self) -> str:
        """`FAIL score >= 0.9: length 4000: 0.80 (n 5, 0.38..0.96)`."""
        shown = "nothing scored" if self.value is None else f"{self.value:.3f}"
        interval = self.tally.interval
        around = f", 95 % interval {interval.low:.2f}..{interval.high:.2f}" if interval else ""
        unscored = "".join(f", {count} {name} counted against" for name, count in self.tally.unscored.items())
        answer = "pass" if self.passed else "FAIL"
        return f"{answer} {self.gate}: {self.group}: {shown} (n {self.tally.n}{around}{unscored})"


def parse_gate(text: str) -> Gate:
    """Read a gate. Raises `InputError` naming what is wrong."""
    match = _GATE.fullmatch(text.strip())
    if match is None:
        raise InputError(OPTION, text, 'write it like "score >= 0.9 [length<=32k, depth=40..60] per length"')
    if match["metric"] not in ("score", "lower_bound"):
        raise InputError(OPTION, match["metric"], "use score or lower_bound")
    if match["grain"] is not None and match["grain"] not in _GRAINS:
        raise InputError(OPTION, f"per {match['grain']}", f"use per {', '.join(_GRAINS)}")
    try:
        number = match["floor"].replace(" ", "")
        floor = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        floor = -1.0
    if not 0 <= floor <= 1:
        raise InputError(OPTION, match["floor"], "scores are 0..1, or percents with %")
    scope = tuple(_term(text, term) for term in (match["scope"] or "").split(",") if term.strip())
    return Gate(text.strip(), match["metric"], match["compare"], floor, scope, match["grain"])


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
        return found == bounds[0] if compare == "=" else _COMPARE[compare](found, bounds[0])

    return test


def _number(gate: str, field: str, text: str) -> float:
    if field == "length":
        return float(parse_tokens(OPTION, text))
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        raise InputError(OPTION, gate, f"{text!r} is not a percent") from None


def judge_gate(gate: Gate, records: Iterable[Record]) -> list[Verdict]:
    """The gate's verdict for each group, shortest first; one that fails when no record is in scope."""
    groups: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record["length"], depth_order(record["depth"]))):
        if all(test(record) for test in gate.scope):
            group = "all" if gate.grain is None else _GRAINS[gate.grain](record)
            groups.setdefault(group, []).append(record)
    if not groups:
        return [Verdict(gate.text, "no cell in scope", False, None, tally(()))]
    return [_verdict(gate, group, found) for group, found in groups.items()]


def _against(gate: Gate, trial: Trial) -> Trial:
    """A trial without a score as the gate likes it least; one that does not fit the window says nothing."""
    if trial.outcome not in ("censored", "invalid", "error"):
        return trial
    return replace(trial, outcome="wrong", score=0.0 if gate.compare in (">=", ">") else 1.0)


def _verdict(gate: Gate, group: str, records: Sequence[Record]) -> Verdict:
    trials = [trial_of(record) for record in records]
    counted = tally(trials)
    if counted.n == 0:
        return Verdict(gate.text, group, False, None, counted)
    worst = tally(_against(gate, trial) for trial in trials)
    value = worst.mean
    if gate.metric == "lower_bound" and worst.interval is not None:
        value = worst.interval.low
    passed = value is not None and _COMPARE[gate.compare](value, gate.floor)
    return Verdict(gate.text, group, passed, value, counted)
