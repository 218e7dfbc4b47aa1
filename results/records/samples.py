"""Groups of records: samples, controls, tests, windows."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from msgspec import structs

from needlework.core.grid import parse_id, slug
from needlework.core.record import FINAL, Record
from needlework.pipeline.exchange import OTHER_SERVER


def control_of(record: Record) -> str:
    """`absent`, `focused` or `compacted` for a record of a control, else empty."""
    control = record.reference.get("control")
    return control if isinstance(control, str) else ""


def retriever_of(record: Record) -> str:
    """`bm25` or `dense` for a record whose context was retrieved, else empty."""
    retriever = record.reference.get("retriever")
    return retriever if isinstance(retriever, str) else ""


Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items of each key, in their order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def without_controls(records: Iterable[Record]) -> list[Record]:
    """The records that a score is made of: of a task, and apart from it of each retriever."""
    return [record for record in records if not control_of(record)]


def as_asked(records: Iterable[Record]) -> list[Record]:
    """The records that a task's own score is made of: no controls, nothing retrieved."""
    return [record for record in records if not control_of(record) and not retriever_of(record)]


def name_of_test(nodeid: str, cell_id: str) -> str:
    """The name of a test in any folder, with its parameters beside the cell.

    `test_own.py::test_needle[strict]` for `tests/test_own.py::test_needle[strict-niah-len400-depth50-code-r0]`.
    """
    file, _, test = nodeid.partition("::")
    name, _, words = test.partition("[")
    beside = words.removesuffix("]").replace(cell_id, "").strip("-")
    return f"{file.rpartition('/')[2]}::{name}" + (f"[{beside}]" if beside else "")


def task_of(label: str) -> str:
    """The task of a row that may name a test too: `niah` of `niah@test_needle`."""
    return label.partition("@")[0]


def by_test(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records as each test asked them: what one test alone asked is in all.

    One entry, without a name, where no two tests have asked the same.
    """
    every = list(records)
    tests = sorted({record.test for record in every if record.test}) or [""]
    return {test: [record for record in every if record.test in ("", test)] for test in tests}


def latest_by_identity(records: Iterable[Record]) -> dict[tuple[str, str, str], Record]:
    """The record that counts for each trial: the last, or an answer before a failure of the same trial."""
    latest: dict[tuple[str, str, str], Record] = {}
    for record in records:
        at = identity(record)
        if at not in latest or not answered_before(latest[at], record):
            latest[at] = record
    return latest


def latest_of_each(records: Iterable[Record]) -> list[Record]:
    """The last record of each cell and test, without later failures of an answered trial.

    Where several tests have asked the same cell, the records of its task say which, in `test` and id.
    """
    latest = latest_by_identity(records)
    tests: dict[tuple[str, str], set[str]] = {}
    for (model, test, _), record in latest.items():
        tests.setdefault((model, record.task_label), set()).add(test)
    cells = Counter((model, record.task_label, cell_id) for (model, _, cell_id), record in latest.items())
    shared = {(model, task) for (model, task, _), count in cells.items() if count > 1}
    labels = {at: _labels(names) for at, names in tests.items() if at in shared}
    return [
        _labelled(record, labels[model, record.task_label][test]) if (model, record.task_label) in labels else record
        for (model, test, _), record in latest.items()
    ]


def answered_before(before: Record, later: Record) -> bool:
    """Whether `later` is a failure of a trial that `before` answers: same prompt and server.

    A record without a key is of a cell whose process died. What was replayed is the same answer, judged again: there a
    failure is the scorer's, and counts.
    """
    is_failure = before.outcome in FINAL and later.outcome not in FINAL and not later.timing.replayed
    return is_failure and later.key in ("", before.key) and OTHER_SERVER not in later.details.flags


def of_tests(records: Iterable[Record], nodeids: Iterable[str]) -> list[Record]:
    """The records, of one run, that these tests have asked."""
    test_cells = {
        (name_of_test(nodeid, cell.id), cell.id) for nodeid in nodeids if (cell := parse_id(nodeid)) is not None
    }
    ids = [(record, f"{record.task}{record.id.removeprefix(record.task_label)}") for record in records]
    return [record for record, cell_id in ids if (name_of_test(record.nodeid, cell_id), cell_id) in test_cells]


def identity(record: Record) -> tuple[str, str, str]:
    """Model, test and cell: what a run has one record of."""
    return record.model, name_of_test(record.nodeid, record.id), record.id


def _labels(tests: set[str]) -> dict[str, str]:
    """The tests' own names; with their files, where two have the same."""
    labels = {test: slug(test.partition("::")[2]) for test in tests}
    alike = len(set(labels.values())) < len(labels)
    return {test: slug(test.replace(".py::", ".")) for test in labels} if alike else labels


def _labelled(record: Record, test: str) -> Record:
    named = structs.replace(record, test=test)
    named.id = f"{named.task_label}{record.id.removeprefix(record.task)}"
    return named


def windows_of(facts: Mapping[str, object]) -> dict[str, int]:
    """Return model -> window that a manifest tells; a model whose window is unknown is left out."""
    return {name: window for name, window in facts_of_models(facts, "window").items() if type(window) is int}


def object_of(value: object) -> Mapping[str, Any]:
    """A JSON object of a manifest, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def facts_of_models(facts: Mapping[str, object], fact: str) -> dict[str, object]:
    """Return model -> what a manifest tells of it, `None` where it does not."""
    models = facts.get("models")
    named = models.items() if isinstance(models, Mapping) else ()
    return {name: model.get(fact) for name, model in named if isinstance(model, Mapping)}


def common_window(windows: Mapping[str, int], records: Iterable[Record]) -> int | None:
    """Return the window of the records' models; `None` where it is unknown, or not the same for all."""
    known = {windows.get(model) for model in {record.model for record in records}}
    return known.pop() if len(known) == 1 else None


def refused_below_window(record: Record, windows: Mapping[str, int]) -> bool:
    """Whether the server called a trial too long, though its length is within the window.

    A trial that was skipped before it was asked has no latency: there our own count says that it does not fit.
    """
    was_asked = record.timing.latency_s is not None
    return record.outcome == "skipped" and was_asked and record.length <= windows.get(record.model, 0)


_NAMED = re.compile(
    r"(?i)(?:step|checkpoint|ckpt|iter|iteration|epoch|tokens)s?[-_ =]*(\d+(?:\.\d+)?)([kmb]?)(?![a-z0-9])"
)
_LAST = re.compile(r"(\d+(?:\.\d+)?)(?!.*\d)")
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}


def step_of(names: Iterable[str]) -> float | None:
    """Return the step in the first of `names` that has one: `step-2k` is 2000, `ckpt_500` 500.
    Else its last number; `None` where there is no number."""
    texts = list(names)
    for text in texts:
        if named := _NAMED.findall(text):
            number, unit = named[-1]
            return float(number) * _TIMES[unit.lower()]
    return next((float(match[1]) for text in texts if (match := _LAST.search(text))), None)


def began(manifest: Mapping[str, Any]) -> datetime | None:
    """Return when a run began, as its manifest has it; `None` where it does not say."""
    started = manifest.get("started")
    try:
        when = datetime.fromisoformat(started) if isinstance(started, str) else None
    except ValueError:
        return None
    return when if when is None or when.tzinfo else when.replace(tzinfo=UTC)


def has_earlier_answers(earlier: list[Record], now: list[Record], recipe: str) -> bool:
    """Whether an answer of an earlier session is among `whole_run`."""
    if any(record.timing.replayed for record in now):
        return True
    there = {identity(record) for record in now}
    answers = (record for record in earlier if record.outcome in FINAL and record.details.recipe == recipe)
    return any(identity(record) not in there for record in answers)


def whole_run(earlier: list[Record], now: list[Record], recipe: str) -> list[Record]:
    """The run that the folder holds: this session's records, and earlier ones of the same recipe."""
    return latest_of_each([*(record for record in earlier if record.details.recipe == recipe), *now])
