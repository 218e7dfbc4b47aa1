"""Gates: expressions, scopes, verdicts, baselines."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, Literal, cast, get_args

from msgspec import structs

from needlework.core.errors import InputError
from needlework.core.grid import Cell, depth_label, parse_tokens
from needlework.core.record import SCORED, WAITING, OutcomeName, Record, record_of_cell
from needlework.haystack_fixtures.tasks.arms import arms_of, split_label
from needlework.haystack_fixtures.tasks.catalogue import Series, controls_of
from needlework.results.records.samples import control_of, retriever_of
from needlework.results.statistics.comparison.comparison import Losses
from needlework.results.statistics.comparison.joining import Identity, joined, prompts_match
from needlework.results.statistics.panels import depth_order
from needlework.results.style import length_labels

# score >= 0.9 lower_bound >= 85% [task=niah, length<=32k, depth=40..60] per length drop <= 0.02 not worse [length<=4k]
# per length not worse than 0.02
#
# `score` is the mean score, `lower_bound` the low end of its interval, `drop` how much lower the mean score is than
# that of a baseline run on the same trials. `not worse` passes unless the run is shown to be worse than its baseline,
# or worse by more than so much. A grain (`per length`, `depth`, `cell`, `task`, `needle`, `model`) asks the condition
# of every group. `verdicts` judges them.
GATE_OPTION = "--gate"
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
    "length": lambda r: f"length {r.length}",
    "depth": lambda r: f"depth {depth_label(r.depth)}",
    "cell": lambda r: f"{r.task} {r.needle} length {r.length} depth {depth_label(r.depth)}",
    "task": lambda r: f"task {r.task}",
    "needle": lambda r: f"needle {r.needle}",
    "model": lambda r: f"model {r.model}",
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
        raise InputError(
            GATE_OPTION, text, 'write "score >= 0.9 [length<=32k, depth=40..60] per length" or "not worse"'
        )
    metric = match["metric"].replace("_worse", " worse")
    if metric not in get_args(Metric):
        raise InputError(GATE_OPTION, metric, 'use score, lower_bound, drop, or "not worse" without a number')
    if match["grain"] is not None and match["grain"] not in _GRAINS:
        raise InputError(GATE_OPTION, f"per {match['grain']}", f"use per {', '.join(_GRAINS)}")
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
        raise InputError(GATE_OPTION, text, "scores are 0..1, or percents with %")
    return limit


def _check_provable(text: str, metric: str, compare: str, limit: float) -> None:
    """Refuse what no run could ever show."""
    floor = compare in (">=", ">")
    if metric == "lower_bound" and not floor:
        raise InputError(
            GATE_OPTION, text, "a lower bound is a floor: lower_bound >= 0.9; for a ceiling use score <= 0.1"
        )
    if metric == "drop" and floor:
        raise InputError(GATE_OPTION, text, "a drop has a ceiling: drop <= 0.02")
    if metric in ("score", "lower_bound") and limit == (1 if floor else 0):
        remedy = "score >= 0.99" if floor else "score <= 0.01"
        raise InputError(GATE_OPTION, text, f"no number of trials shows a score of exactly {limit:g}; write {remedy}")


def _term(gate: str, text: str) -> Test:
    match = _TERM.fullmatch(text.strip())
    if match is None or match["field"] not in (*_WORDS, "length", "depth"):
        raise InputError(
            GATE_OPTION, text.strip(), f"a scope has terms like length<=32k, depth=40..60, {', '.join(_WORDS)}=NAME"
        )
    field, compare, value = match["field"], match["compare"], match["value"].strip()
    if field in _WORDS:
        if compare != "=":
            raise InputError(GATE_OPTION, text.strip(), f"use {field}=NAME")
        if field == "retriever":
            return lambda record: retriever_of(record) == value
        if field == "task":
            return lambda record: value in (record.task, record.task_label)
        return lambda record: getattr(record, field) == value
    low, dots, high = value.partition("..")
    bounds = [_number(gate, field, part) for part in ((low, high) if dots else (low,))]
    if dots and compare != "=":
        raise InputError(GATE_OPTION, text.strip(), f"a range is written {field}={value}")

    def test(record: Record) -> bool:
        found = record.length if field == "length" else record.depth
        if found is None:
            return False
        if dots:
            return bounds[0] <= found <= bounds[1]
        return found == bounds[0] if compare == "=" else COMPARE[compare](found, bounds[0])

    return test


def _number(gate: str, field: str, text: str) -> float:
    if field == "length":
        return float(parse_tokens(GATE_OPTION, text))
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        raise InputError(GATE_OPTION, gate, f"{text!r} is not a percent") from None


def groups_of(gate: Gate, records: Iterable[Record], each_model: bool = False) -> dict[str, list[Record]]:
    """The records in the gate's scope, by the groups that it asks of, shortest first; `all` without a grain.

    `each_model`: the models are asked one by one, whatever the grain.

    Controls are in no scope but one that names their needle (`[needle=code_absent]`), and what was retrieved in none
    but one that names the retriever (`[retriever=bm25]`). Tests that ask the same cells are groups of their own.
    """
    words = gate.text.replace(" ", "")
    groups: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record.length, depth_order(record.depth))):
        measured = not control_of(record) or f"needle={record.needle}" in words
        measured = measured and (not retriever_of(record) or "retriever=" in words)
        if measured and all(test(record) for test in gate.scope):
            group = "all" if gate.grain is None else _GRAINS[gate.grain](record)
            if each_model and gate.grain != "model":
                group = f"{'' if gate.grain is None else f'{group} of '}model {record.model}"
            if record.test and gate.grain not in ("task", "cell"):
                group += f" of {record.test}"
            groups.setdefault(group, []).append(record)
    return groups


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
            raise InputError(GATE_OPTION, gate.text, remedy)


def _trials(series: Series, selected: Collection[str] | None) -> Iterator[Record]:
    """What records of these cells will say that a scope can ask for."""
    arms, controls = arms_of(series.task, series.suite), controls_of(series.task, series.suite)
    for cell in series.cells if selected is None else (cell for cell in series.cells if cell.id in selected):
        label, retriever = split_label(cell.needle, arms)
        control = "" if retriever else split_label(label, controls)[1]
        yield planned_record(cell, series.model, language=series.suite.language, retriever=retriever, control=control)


def _has(gate: Gate, planned: Sequence[Record]) -> str:
    """The run's own values of what the gate's scope names."""
    fields = dict.fromkeys(_FIELD.findall(gate.text.partition("[")[2])) or {"retriever": None}
    return "; ".join(f"{field} {_values(field, planned)}" for field in fields)


def _values(field: str, planned: Sequence[Record]) -> str:
    if field == "length":
        names = length_labels(sorted({record.length for record in planned}))
    elif field == "depth":
        depths = {record.depth for record in planned}
        names = tuple(depth_label(depth) for depth in sorted(depth for depth in depths if depth is not None))
    elif field == "retriever":
        names = tuple({retriever_of(record): None for record in planned if retriever_of(record)})
    else:
        names = tuple(dict.fromkeys(getattr(record, field) for record in planned))
    return ", ".join([*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])]) or "none"


State = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's answer for one group.

    `value`: what the gate asks about (mean score, low end, or drop); `None` where nothing was scored, which fails.
    `low`, `high`: the interval of the mean (of the drop), at `level` percent; `None` where one sample has none. `n`:
    trials with a score, or pairs of them; `against`: the trials without one that counted against the gate. `samples`:
    of all these trials; `more`: the fewest further samples, like those seen, that would decide at the next look's
    level; `None` where no number would, or the verdict is not inconclusive. `paired`: a trial needs its twin in the
    baseline. `losses`: what this run could not answer: of trials that the baseline scored, or that did not fit its
    window; counted as misses. `windows`: of the baseline and of this run in tokens, where known. `nothing`: of the `n`,
    answers that are empty or a refusal. `sees`: the smallest drop (0..1) that so many samples show in 80 of 100 runs.
    `several_depths`: a sample was asked at more than one depth of a length.
    """

    gate: str
    group: str
    state: State
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 95.0
    n: int = 0
    against: Mapping[OutcomeName, int] = field(default_factory=dict)
    samples: int = 0
    more: int | None = None
    note: str = ""
    paired: bool = False
    losses: Losses | None = None
    windows: tuple[int | None, int | None] = (None, None)
    nothing: Mapping[OutcomeName, int] = field(default_factory=dict)
    sees: float | None = None
    several_depths: bool = False

    @property
    def certain(self) -> bool:
        """Whether it failed for what no sampling decides: trials that do not fit the model's window."""
        return self.losses is not None and "skipped" in self.losses.outcomes

    @property
    def trials(self) -> int:
        """All that were counted, with a score and without."""
        return self.n + sum(self.against.values()) + (self.losses.lost if self.losses and not self.paired else 0)

    @property
    def more_trials(self) -> int | None:
        """The trials of as many further samples, asked as often as those seen."""
        return None if self.more is None or not self.samples else ceil(self.more * self.trials / self.samples)


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
        return found.score if found is not None and found.outcome in SCORED else None

    def check(self, record: Record) -> None:
        """Refuse a baseline that was asked something else under the same name. Raises `InputError`."""
        found = self.twin_of(record)
        if found is not None and prompts_match(found, record) is False:
            raise InputError(
                OPTION, self.path,
                f"its prompt of {record.id} is another one than this run's; needlework compare says which part"
                " differs, and a baseline made with this run's options has the same",
            )  # fmt: skip

    def has(self, model: str, cell: Cell, seed: int) -> bool:
        """Whether the baseline scored this trial, in whichever test."""
        named = model if self.by_model else ""
        tasks = [cell.task, *(f"{cell.task}@{label}" for label in self.labels)]
        at = cell.length, cell.depth, cell.repeat, seed
        twins = [self.records.get(((named, task, cell.needle), *at)) for task in tasks]
        return any(twin is not None and twin.outcome in SCORED for twin in twins)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The tests that its records' tasks name, where several asked the same."""
        return tuple(sorted({record.test for record in self.records.values() if record.test}))

    @property
    def repeats(self) -> int:
        """One more than its highest repeat."""
        return 1 + max(repeat for _, _, _, repeat, _ in self.records)

    def _identity(self, record: Record) -> Identity:
        family = (record.model if self.by_model else "", record.task_label, record.needle)
        return family, record.length, record.depth, record.repeat, record.seed


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
    before = {record.model for record in run.records}
    only = next(iter(before)) if len(before) == 1 else None
    trials = {
        (only or model, replace(cell, model="")): planned_record(cell, only or model, seed=seed)
        for model, cell in cells
    }
    asked = list(trials.values())
    tests = {record.test for record in run.records if record.test}
    asked += [structs.replace(trial, test=test) for trial in asked for test in sorted(tests)]
    try:
        index, _, _ = joined(run.records, asked)
    except InputError as error:
        raise InputError(OPTION, path, f"cannot be paired (A: the baseline, B: this run): {_remedy(error)}") from None
    return Baseline(path, index, by_model=any(model for (model, _, _), *_ in index), manifest=run.manifest)


def planned_record(cell: Cell, model: str, *, seed: int = 0, language: str = "", **reference: str) -> Record:
    """The record of a cell that nobody has asked yet."""
    return record_of_cell(cell, model, WAITING, language=language, seed=seed, reference=reference)


def _remedy(error: InputError) -> str:
    several = "several models" in str(error)
    return f"{error}{'; a baseline of one model serves each model of a run' if several else ''}"
