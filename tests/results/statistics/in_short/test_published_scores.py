"""The sentence says the score that a published suite reports."""

from __future__ import annotations

from collections.abc import Callable

from needlework.results.records.record import Record
from needlework.results.statistics.in_short.sentence import in_short
from needlework.results.statistics.published.ruler import TASKS
from needlework.results.statistics.run_report import run_report


def test_rulers_mean_of_13_tasks_is_said_where_every_task_has_a_score(make_record: Callable[..., Record]) -> None:
    records = [
        make_record(task=task, length=4000, repeat=at, outcome="wrong" if number == 0 else "found")
        for number, task in enumerate(TASKS)
        for at in range(4)
    ]
    assert " at 4k as RULER's mean of 13 tasks; on 13 tasks, from 0 % " in in_short(run_report(records)).sentence
    assert "RULER" not in in_short(run_report(records[4:])).sentence
