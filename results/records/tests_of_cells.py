"""Which test a record is of. Several tests may ask the same cells: then each has records, and a panel, of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from needlework.haystack_fixtures.grid.cells import parse_id, slug
from needlework.haystack_fixtures.trials.exchange import OTHER_SERVER
from needlework.results.records.record import FINAL, Record

_MARK = "@"


def name_of_test(nodeid: str, cell_id: str) -> str:
    """What names a test whatever folder pytest runs in, with its parameters beside the cell.

    `test_own.py::test_needle[strict]` for `tests/test_own.py::test_needle[strict-niah-len400-depth50-code-r0]`.
    """
    file, _, test = nodeid.partition("::")
    name, _, words = test.partition("[")
    beside = words.removesuffix("]").replace(cell_id, "").strip("-")
    return f"{file.rpartition('/')[2]}::{name}" + (f"[{beside}]" if beside else "")


def task_of(name: str) -> str:
    """The task of a record whose `task` may name its test too: `niah` of `niah@test_needle`."""
    return name.partition(_MARK)[0]


def label_of(name: str) -> str:
    """The test that a record's `task` names, empty where it names none."""
    return name.partition(_MARK)[2]


def by_test(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records as each test asked them, under their tasks' plain names: what one test alone asked is in all.

    One entry, without a name, where no two tests have asked the same.
    """
    found = [(label_of(record["task"]), record) for record in records]
    labels = sorted({label for label, _ in found if label}) or [""]
    return {
        label: [cast("Record", {**each, "task": task_of(each["task"])}) for own, each in found if own in ("", label)]
        for label in labels
    }


def latest_of_each(records: Iterable[Record]) -> list[Record]:
    """The last record of each cell and test; an answer stays where only a failure of the same trial came later.

    Where several tests have asked the same cell, the records of its task say which: `niah@test_needle`, in task and id.
    """
    latest: dict[tuple[str, str, str], Record] = {}
    for record in records:
        at = identity(record)
        if at not in latest or not answered_before(latest[at], record):
            latest[at] = record
    of_task: dict[tuple[str, str], set[str]] = {}
    for (model, test, _), record in latest.items():
        of_task.setdefault((model, record["task"]), set()).add(test)
    if all(len(asked_by) == 1 for asked_by in of_task.values()):
        return list(latest.values())
    tests: dict[tuple[str, str], dict[str, set[str]]] = {}
    for (model, test, cell_id), record in latest.items():
        tests.setdefault((model, record["task"]), {}).setdefault(cell_id, set()).add(test)
    labels = {
        at: _labels(set().union(*cells.values()))
        for at, cells in tests.items()
        if any(len(asked_by) > 1 for asked_by in cells.values())
    }
    return [
        _labelled(record, labels[model, record["task"]][test]) if (model, record["task"]) in labels else record
        for (model, test, _), record in latest.items()
    ]


def answered_before(before: Record, later: Record) -> bool:
    """Whether `later` is a failure of a trial that `before` has the answer to: of the same prompt and server.

    A record without a key is of a cell whose process died. What was replayed is the same answer, judged again: there a
    failure is the scorer's, and counts.
    """
    if before["outcome"] not in FINAL or later["outcome"] in FINAL or later["key"] not in ("", before["key"]):
        return False
    if later["timing"].get("replayed"):
        return False
    return OTHER_SERVER not in later["details"].get("flags", ())


def of_tests(records: Iterable[Record], nodeids: Iterable[str]) -> list[Record]:
    """The records, of one run, that these tests have asked; a record's `task` may name its test."""
    wanted = {(name_of_test(nodeid, cell.id), cell.id) for nodeid in nodeids if (cell := parse_id(nodeid)) is not None}
    return [record for record in records if _place(record) in wanted]


def _place(record: Record) -> tuple[str, str]:
    cell = f"{task_of(record['task'])}{record['id'].removeprefix(record['task'])}"
    return name_of_test(record["nodeid"], cell), cell


def identity(record: Record) -> tuple[str, str, str]:
    """Model, test and cell: what a run has one record of."""
    return record["model"], name_of_test(record.get("nodeid", ""), record["id"]), record["id"]


def _labels(tests: set[str]) -> dict[str, str]:
    """The tests' own names; with their files, where two have the same."""
    found = {test: slug(test.partition("::")[2]) for test in tests}
    alike = len(set(found.values())) < len(found)
    return {test: slug(test.replace(".py::", ".")) for test in found} if alike else found


def _labelled(record: Record, test: str) -> Record:
    task = f"{record['task']}{_MARK}{test}"
    named = {"task": task, "id": f"{task}{record['id'].removeprefix(record['task'])}"}
    return cast("Record", {**record, **named})
