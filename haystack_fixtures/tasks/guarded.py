"""A task of somebody else's, whose mistakes are told in one line: which task, which function, which line of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tasks.task import Asked, Task


def guarded(task: Task) -> Task:
    """The same task. What its functions raise, and values of a wrong kind, become `InputError`."""
    return replace(
        task,
        labels=_call(task, "labels", task.labels, _texts),
        depths=_call(task, "depths", task.depths, _depths),
        lengths=_call(task, "lengths", task.lengths, _lengths),
        ask=_call(task, "ask", task.ask, _asked),
    )


def _call(task: Task, name: str, function: Callable[..., Any], fault: Callable[[Any], str]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        try:
            result = function(*values)
        except InputError:
            raise
        except Exception as error:
            problem = f"raised {type(error).__name__}: {error}"
            raise InputError(f"task {task.name}, its `{name}`", _place(error), problem) from error
        if problem := fault(result):
            raise InputError(f"task {task.name}, its `{name}`", result, problem)
        return result

    return call


def _place(error: Exception) -> str:
    """`conftest.py:12`, where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def _texts(found: Any) -> str:
    good = _is_sequence(found) and all(isinstance(label, str) and label for label in found)
    return "" if good else 'returns needle labels, a tuple of texts such as ("code",)'


def _depths(found: Any) -> str:
    good = _is_sequence(found) and found and all(depth is None or _is_percent(depth) for depth in found)
    return "" if good else "returns depths in percent, such as (0.0, 50.0, 100.0), or (None,) where nothing is placed"


def _lengths(found: Any) -> str:
    good = _is_sequence(found) and all(type(length) is int and length > 0 for length in found)
    return "" if good else "returns lengths, a tuple of whole numbers of tokens"


def _asked(found: Any) -> str:
    if not isinstance(found, Asked):
        return "returns an Asked; see docs/extend.md"
    if len(found.needles) != len(found.depths):
        return f"has {len(found.needles)} needles and {len(found.depths)} depths: give every needle one"
    if not all(_is_percent(depth) for depth in found.depths):
        return f"has the depths {found.depths}: each is a percent from 0 to 100; `no_depths` tasks have no needles"
    return ""


def _is_percent(depth: Any) -> bool:
    return isinstance(depth, int | float) and 0 <= depth <= 100


def _is_sequence(found: Any) -> bool:
    return isinstance(found, Sequence) and not isinstance(found, str)
