"""Tasks that do not come with needlework: of installed packages, and of the run's own hook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import entry_points
from itertools import chain
from types import MappingProxyType

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Tasks, near_names
from needlework.haystack_fixtures.tasks.guarded import guarded
from needlework.haystack_fixtures.tasks.task import Task

GROUP = "needlework.tasks"  # of entry points: each names a `Task`, or a sequence of them
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def with_tasks(more: Sequence[object] = ()) -> Tasks:
    """Our tasks and those of others: of installed packages (entry points of `GROUP`), and `more`: a task each, or a
    sequence of them, or nothing.

    Raises `InputError` for two of one name, and for what is no task; their functions do for what goes wrong in them.
    """
    found: dict[str, Task] = {}
    for task in chain(_installed(), *map(_tasks_in, more)):
        if not isinstance(task, Task):
            raise InputError("task", task, "is no Task; see docs/extend.md")
        if not _NAME.fullmatch(task.name):
            raise InputError("task", task.name, "give it a name of small letters, digits and _")
        if task.name in TASKS or found.setdefault(task.name, task) is not task:
            raise InputError("task", task.name, "is the name of another task already; give yours a name of its own")
    return MappingProxyType({**TASKS, **{name: guarded(task) for name, task in found.items()}})


def _tasks_in(given: object) -> Iterable[object]:
    if given is None:
        return ()
    return given if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _installed() -> Iterator[object]:
    for entry in entry_points(group=GROUP):
        try:
            found = entry.load()
        except Exception as error:  # noqa: BLE001 - whatever a package raises on import
            remedy = f"the entry point {entry.value} cannot be loaded ({type(error).__name__}: {error})"
            raise InputError("task", entry.name, remedy) from None
        yield from _tasks_in(found)


def tasks_marked(name: str, tasks: Tasks) -> list[Task]:
    """The tasks of `@pytest.mark.cells(name)`: the one of that name, or a family's. Raises `InputError`."""
    found = [task for task in tasks.values() if name in (task.name, task.family)]
    if not found:
        families = [task.family for task in tasks.values() if task.family]
        raise InputError("@pytest.mark.cells", name, near_names(name, [*tasks, *families]))
    return found
