"""Gates: expressions, the records in their scope, verdicts, and the baseline of a paired gate."""

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal, cast, get_args

from msgspec import Struct, structs

from needlework.core.errors import InputError
from needlework.core.grid import Cell, depth_label, parse_tokens
from needlework.core.record import SCORED, WAITING, OutcomeName, Record, record_of_cell
from needlework.haystack_fixtures.tasks.arms import arms_of, split_label
from needlework.haystack_fixtures.tasks.catalogue import Series, controls_of
from needlework.results.records.samples import control_of, grouped, retriever_of
from needlework.results.statistics.comparison.comparison import Identity, Losses, joined, prompts_match
from needlework.results.statistics.panels import depth_order
from needlework.results.style import length_labels

# `score >= 0.9`, `lower_bound >= 85% [task=niah, length<=32k, depth=40..60] per length`, `drop <= 0.02`,
# `not worse [length<=4k] per length`, `not worse than 0.02`.
#
# `score` is the mean score, `lower_bound` the low end of its interval, `drop` how much lower the mean score is than
# a baseline's on the same trials. `not worse` passes unless the run is shown to be worse than its baseline,
# or worse by more than a margin. A grain (`per length`, `depth`, `cell`, `task`, `needle`, `model`) judges every group.
GATE, BASELINE = "--gate", "--baseline"
COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "=": operator.eq}
_SCOPE = r"\s*(?:\[(?P<scope>[^\]]*)\])?\s*(?:per\s+(?P<grain>\w+))?"
_LIMIT = r"(?P<limit>(?:\d+\.?\d*|\.\d+)\s*%?)"
_GATE = re.compile(rf"(?P<metric>\w+)\s*(?P<compare>>=|<=|>|<)\s*{_LIMIT}{_SCOPE}")
_NOT_WORSE = re.compile(rf"(?P<metric>not[ _]worse)(?:\s+than\s+{_LIMIT})?{_SCOPE}")
_TERM = re.compile(r"\s*(?P<field>\w+)\s*(?P<compare>>=|<=|=|>|<)\s*(?P<value>[^,]+)")
_GRAINS: dict[str, Callable[[Record], str]] = {
    "length": lambda r: f"length {r.length}",
    "depth": lambda r: f"depth {depth_label(r.depth)}",
    "cell": lambda r: f"{r.task} {r.needle} length {r.length} depth {depth_label(r.depth)}",
    "task": lambda r: f"task {r.task}",
    "needle": lambda r: f"needle {r.needle}",
    "model": lambda r: f"model {r.model}",
}
_NUMBERS, _NAMES = ("length", "depth"), ("task", "needle", "model", "language", "retriever")
Metric = Literal["score", "lower_bound", "drop", "not worse"]
Test = Callable[[Record], bool]


class Gate(Struct, frozen=True):
    """A parsed condition. `limit` is 0..1."""

    text: str
    metric: Metric
    compare: str
    limit: float
    scope: tuple[Test, ...]
    grain: str | None

    @property
    def paired(self) -> bool:
        """Whether it judges the difference to a baseline."""
        return self.metric in ("drop", "not worse")

    @property
    def is_floor(self) -> bool:
        """Whether a higher value passes."""
        return self.compare in (">=", ">")


def parse_gate(text: str) -> Gate:
    """Parse an expression. Raises `InputError` naming what is wrong."""
    text = text.strip()
    match = _NOT_WORSE.fullmatch(" ".join(text.split())) or _GATE.fullmatch(text)
    if match is None:
        raise InputError(GATE, text, 'write "score >= 0.9 [length<=32k, depth=40..60] per length" or "not worse"')
    metric, grain = match["metric"].replace("_worse", " worse"), match["grain"]
    if metric not in get_args(Metric):
        raise InputError(GATE, metric, 'use score, lower_bound, drop, or "not worse" without a number')
    if grain is not None and grain not in _GRAINS:
        raise InputError(GATE, f"per {grain}", f"use per {', '.join(_GRAINS)}")
    compare = "<=" if metric == "not worse" else match["compare"]
    scope = tuple(_parse_term(term) for term in (match["scope"] or "").split(",") if term.strip())
    gate = Gate(text, cast(Metric, metric), compare, _parse_limit(match["limit"] or "0"), scope, grain)
    _check_provable(gate)
    return gate


def _parse_limit(text: str) -> float:
    """Parse `0.9`, `90%` or `90 %`. Raises `InputError`."""
    limit = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if limit > 1:
        raise InputError(GATE, text, "scores are 0..1, or percents with %")
    return limit


def _check_provable(gate: Gate) -> None:
    """Refuse what no run could ever show. Raises `InputError`."""
    remedy = None
    if gate.metric == "lower_bound" and not gate.is_floor:
        remedy = "a lower bound is a floor: lower_bound >= 0.9; for a ceiling use score <= 0.1"
    elif gate.metric == "drop" and gate.is_floor:
        remedy = "a drop has a ceiling: drop <= 0.02"
    elif not gate.paired and gate.limit == (1 if gate.is_floor else 0):
        other = "score >= 0.99" if gate.is_floor else "score <= 0.01"
        remedy = f"no number of trials shows a score of exactly {gate.limit:g}; write {other}"
    if remedy:
        raise InputError(GATE, gate.text, remedy)


def _parse_term(text: str) -> Test:
    match = _TERM.fullmatch(text.rstrip())
    if match is None or match["field"] not in (*_NAMES, *_NUMBERS):
        remedy = f"a scope has terms like length<=32k, depth=40..60, {', '.join(_NAMES)}=NAME"
        raise InputError(GATE, text.strip(), remedy)
    name, compare, value = match.group("field", "compare", "value")
    low, dots, high = value.partition("..")
    if compare != "=" and (name in _NAMES or dots):
        remedy = f"use {name}=NAME" if name in _NAMES else f"a range is written {name}={value}"
        raise InputError(GATE, text.strip(), remedy)
    if name in _NAMES:
        return lambda record: value == _field_of(record, name) or (name == "task" and value == record.task_label)
    ends = ((">=", low), ("<=", high)) if dots else ((compare, value),)
    bounds = [(COMPARE[sign], _parse_bound(name, end)) for sign, end in ends]

    def is_within(record: Record) -> bool:
        number = _field_of(record, name)
        return number is not None and all(holds(number, bound) for holds, bound in bounds)

    return is_within


def _field_of(record: Record, name: str) -> Any:
    return retriever_of(record) if name == "retriever" else getattr(record, name)


def _parse_bound(field: str, text: str) -> float:
    if field == "length":
        return float(parse_tokens(GATE, text))
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        raise InputError(GATE, text, "is not a percent") from None


def groups_of(gate: Gate, records: Sequence[Record], baseline: "Baseline | None" = None) -> dict[str, list[Record]]:
    """The records in the gate's scope, by judged group, shortest first; `all` without a grain.

    Several models that share one baseline are compared with it one by one, whatever the grain. Controls are in no
    scope but one that names their needle (`[needle=code_absent]`), retrieved contexts in none but one that names the
    retriever (`[retriever=bm25]`). Tests that share cells are groups of their own.
    """
    words = gate.text.replace(" ", "")
    shared = gate.paired and baseline is not None and not baseline.by_model
    each_model = shared and len({record.model for record in records}) > 1

    def is_in_scope(record: Record) -> bool:
        measured = not control_of(record) or f"needle={record.needle}" in words
        measured = measured and (not retriever_of(record) or "retriever=" in words)
        return measured and all(test(record) for test in gate.scope)

    def group_of(record: Record) -> str:
        group = "all" if gate.grain is None else _GRAINS[gate.grain](record)
        if each_model and gate.grain != "model":
            group = f"{'' if gate.grain is None else f'{group} of '}model {record.model}"
        return f"{group} of {record.test}" if record.test and gate.grain not in ("task", "cell") else group

    ordered = sorted(records, key=lambda record: (record.length, depth_order(record.depth)))
    return grouped(filter(is_in_scope, ordered), group_of)


_SHOWN = 8  # values that a message lists


def check_scopes(gates: Sequence[Gate], grid: Sequence[Series], selected: Collection[str] | None = None) -> None:
    """Refuse a gate whose scope has no trial of the command. Raises `InputError`.

    `grid`: of the whole command, also in a shard. `selected`: ids of the cells that `-k` or node ids select.
    """
    planned = [record for series in grid for record in _planned_records(series, selected)] if gates else []
    for gate in gates:
        # Tests that share cells, so that records name them (`niah@test_own`), are known at the end of a run only.
        if "@" not in gate.text and not groups_of(gate, planned):
            names = dict.fromkeys(re.findall(r"(\w+)\s*[<>=]", gate.text.partition("[")[2])) or ["retriever"]
            values = "; ".join(f"{name} {_values(name, planned)}" for name in names)
            raise InputError(GATE, gate.text, f"no cell of this run is in its scope; the run has {values}")


def _planned_records(series: Series, selected: Collection[str] | None) -> list[Record]:
    arms, controls = arms_of(series.task, series.suite), controls_of(series.task, series.suite)
    records = []
    for cell in series.cells:
        if selected is None or cell.id in selected:
            label, retriever = split_label(cell.needle, arms)
            control = "" if retriever else split_label(label, controls)[1]
            reference, language = {"retriever": retriever, "control": control}, series.suite.language
            record = record_of_cell(cell, series.model, WAITING, language=language, seed=0, reference=reference)
            records.append(record)
    return records


def _values(field: str, planned: Sequence[Record]) -> str:
    values = dict.fromkeys(_field_of(record, field) for record in planned)
    names: Sequence[str] = [value for value in values if value]
    if field == "length":
        names = length_labels(sorted(values))
    elif field == "depth":
        names = [depth_label(depth) for depth in sorted(depth for depth in values if depth is not None)]
    return ", ".join([*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])]) or "none"


State = Literal["pass", "fail", "inconclusive"]


class Verdict(Struct, frozen=True):
    """A gate's result for one group."""

    gate: str
    group: str
    state: State
    value: float | None = None  # mean score, low end, or drop; `None` where nothing was scored, which fails
    low: float | None = None  # interval of the mean (of the drop); `None` where one sample has none
    high: float | None = None
    level: float = 95.0  # of the interval, percent
    n: int = 0  # trials with a score, or pairs of them
    against: Mapping[OutcomeName, int] = {}  # trials without a score that count as misses
    samples: int = 0  # of all these trials
    more: int | None = None  # fewest further samples, like these, that decide at the next look; `None`: no number does
    note: str = ""
    paired: bool = False  # a trial needs its twin in the baseline
    losses: Losses | None = None  # trials without a score that the baseline scored, or that do not fit the window
    windows: tuple[int | None, int | None] = (None, None)  # tokens, of the baseline and of this run
    nothing: Mapping[OutcomeName, int] = {}  # of the `n`: empty answers and refusals
    sees: float | None = None  # smallest drop (0..1) that so many samples show in 80 of 100 runs
    several_depths: bool = False  # a sample has several depths of one length

    @property
    def certain(self) -> bool:
        """Whether trials do not fit the model's window, so that it fails whatever the sampling."""
        return self.losses is not None and "skipped" in self.losses.outcomes

    @property
    def trials(self) -> int:
        """All trials that count, with a score and without."""
        return self.n + sum(self.against.values()) + (self.losses.lost if self.losses and not self.paired else 0)

    @property
    def more_trials(self) -> int | None:
        """The trials of `more` samples, at as many trials a sample as those seen."""
        return None if self.more is None or not self.samples else ceil(self.more * self.trials / self.samples)


@dataclass(frozen=True)
class Baseline:
    """A run's records, by the identity that trials of two runs are joined on."""

    path: Path
    records: Mapping[Identity, Record]
    by_model: bool  # each model is its own baseline; else every model of the run has the same one
    manifest: Mapping[str, Any] = field(default_factory=dict)  # empty where there is none

    def twin_of(self, record: Record) -> Record | None:
        """The baseline's record of the same trial; `None` where it has none."""
        family = (record.model if self.by_model else "", record.task_label, record.needle)
        return self.records.get((family, record.length, record.depth, record.repeat, record.seed))

    def score_of(self, record: Record) -> float | None:
        """The baseline's score on the same trial; `None` where it has none."""
        twin = self.twin_of(record)
        return twin.score if twin is not None and twin.outcome in SCORED else None

    def check(self, record: Record) -> None:
        """Refuse a baseline that has another prompt under the same id. Raises `InputError`."""
        twin = self.twin_of(record)
        if twin is not None and prompts_match(twin, record) is False:
            remedy = f"its prompt of {record.id} is another one than this run's; needlework compare says which part"
            remedy += " differs, and a baseline made with this run's options has the same"
            raise InputError(BASELINE, self.path, remedy)

    @property
    def repeats(self) -> int:
        """One more than its highest repeat."""
        return 1 + max(repeat for _, _, _, repeat, _ in self.records)


def load_baseline(path: Path, cells: Iterable[tuple[str, Cell]], seed: int) -> Baseline:
    """Read the baseline of a run with these (model, cell). Raises `InputError` if they share no trial.

    A run of several models has a baseline of one, which each of them is compared with, or of the same models.
    """
    from needlework.results.files.read_run import read_run

    file = path / "results.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(BASELINE, path, "has no results.json; give a finished run's folder or its results.json")
    try:
        run = read_run(file)
    except OSError as error:
        raise InputError(BASELINE, path, f"cannot be read ({error.strerror})") from None
    except InputError as error:
        raise InputError(BASELINE, path, str(error)) from None
    only = run.models[0] if len(run.models) == 1 else None
    trials = dict.fromkeys((only or model, replace(cell, model="")) for model, cell in cells)
    planned = [record_of_cell(cell, model, WAITING, language="", seed=seed) for model, cell in trials]
    tests = sorted({record.test for record in run.records if record.test})
    planned += [structs.replace(trial, test=test) for trial in planned for test in tests]
    try:
        index, _ = joined(run.records, planned)
    except ValueError as error:
        remedy = f"cannot be paired with this run (baseline / this run): {error}"
        if "several models" in remedy:
            remedy += "; a baseline of one model serves each model of a run"
        raise InputError(BASELINE, path, remedy) from None
    return Baseline(path, index, by_model=any(model for (model, _, _), *_ in index), manifest=run.manifest)
