"""Tasks of others: what their functions do wrong is one line that names the task, the function and its line."""

from dataclasses import replace
from typing import cast

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.catalogue import TASKS, task_named, with_tasks
from needlework.haystack_fixtures.tasks.task import Question, Task, no_depths

CELL = Cell("berths", 500, 50.0, "berth")
SUITE = cast("Suite", None)  # these functions do not look at it
NEEDLE = Needle("berth", "The Aurora lies at berth 7.", "Where?", "7", key="Aurora")
ASKED = Question(needles=(NEEDLE,), depths=(50.0,), question="Where?", answer="7", reference={"answers": ("7",)})
BERTHS = Task("berths", "the berth of a ship", lambda _suite: ("berth",), no_depths, lambda *_: ASKED)


def ask(task):
    return with_tasks([task])["berths"].ask(SUITE, CELL, 0)


def test_what_a_task_raises_is_told_with_its_name_and_line():
    def broken(*_):
        raise KeyError("Borealis")

    with pytest.raises(InputError, match=r"task berths, its `ask`: 'test_guarded.py:\d+': raised KeyError: 'Borealis'"):
        ask(replace(BERTHS, ask=broken))


@pytest.mark.parametrize(
    ("function", "returned", "told"),
    [
        ("ask", None, "returns no Question|returns no a Question"),
        ("ask", replace(ASKED, depths=()), "1 needles and 0 depths: give every needle one"),
        ("ask", replace(ASKED, depths=(None,)), "each is a percent"),
        ("ask", replace(ASKED, depths=(150.0,)), "each is a percent"),
        ("labels", "berth", "needle labels"),
        ("labels", (1,), "needle labels"),
        ("depths", (), "depths in percent"),
        ("depths", (-1.0,), "depths in percent"),
        ("depths", None, "depths in percent"),
    ],
)
def test_what_a_function_of_a_wrong_kind_returns_is_told(function, returned, told):
    task = with_tasks([replace(BERTHS, **{function: lambda *_: returned})])["berths"]
    with pytest.raises(InputError, match=told):
        task.ask(SUITE, CELL, 0) if function == "ask" else getattr(task, function)(SUITE)


def test_a_hook_may_give_one_task_or_several_or_none():
    assert ask(BERTHS) == ASKED
    other = replace(BERTHS, name="quays")
    assert {"berths", "quays"} < set(with_tasks([BERTHS, None, [other]]))
    assert with_tasks([None]) == TASKS
    with pytest.raises(InputError, match="task: 'niahh': did you mean niah"):
        task_named("niahh")


@pytest.mark.parametrize("given", ["berths", 7, [None]])
def test_what_is_no_task_is_refused(given):
    with pytest.raises(InputError, match="is no Task"):
        with_tasks([given])
