"""Scorers by name, and scorers of the user's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType

from needlework.scoring.leval import overlap, tasks
from needlework.scoring.match import match
from needlework.scoring.published import data_sets, opencompass, ruler
from needlework.scoring.scorers import documents, letters, sets, values
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import verdict_for

_MODULES = (match, documents, values, letters, sets, ruler, data_sets, opencompass, tasks, overlap)
SCORERS = MappingProxyType(
    {each.name: each for module in _MODULES for each in vars(module).values() if isinstance(each, Scorer)}
)
"""Scorers by name."""


def scorer_named(name: str) -> Scorer:
    """Return the scorer of that name: one of ours, an installed package's, or one's own as `module:attribute`.

    Judges are made by `judges.scorers.judged`. Raises `ValueError` where there is none.
    """
    if name in SCORERS:
        return SCORERS[name]
    if ":" in name.strip(":"):
        return imported_scorer(name)
    others = installed()
    if name in others:
        return installed_scorer(others[name])
    known = {*SCORERS, *others}
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    names = [*close, *sorted(known - set(close)), "module:attribute"]
    raise ValueError(f"unknown scorer {name!r}: use one of {', '.join(names)}")


GROUP = "needlework.scorers"
Function = Callable[[str, Reference], Score | float]


def scorer_of(function: Function, name: str = "") -> Scorer:
    """A scorer that calls `function(answer, reference)`, which returns a `Score` or a number 0..1.

    `name`: what records call it; the function's own by default. `function.version`, a whole number, is its version.
    """

    def judge(answer: str, reference: Reference) -> Score:
        result = function(answer, reference)
        if isinstance(result, Score):
            return result
        value = float(result)
        return Score(value, verdict_for(value, answer, partial_from=0), answer[:200], f"value {value:g}")

    return Scorer(name or label(function), version_of(function), judge)


def label(scorer: object) -> str:
    """What a scorer is called: its `name`, its `__name__`, or its type's."""
    return str(getattr(scorer, "name", None) or getattr(scorer, "__name__", None) or type(scorer).__name__)


def version_of(scorer: object) -> int:
    """A scorer's version; 1 where it has none."""
    version = getattr(scorer, "version", 1)
    return version if isinstance(version, int) else 1


def installed() -> dict[str, EntryPoint]:
    """The scorers that installed packages bring, by name: entry points of the group `needlework.scorers`."""
    return {each.name: each for each in entry_points(group=GROUP)}


def imported_scorer(named: str) -> Scorer:
    """The scorer that `module:attribute` names. Modules of the current folder are found too.

    Raises `ValueError` where there is none.
    """
    module, _, attribute = named.partition(":")
    try:
        with _current_folder():
            found = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # noqa: BLE001 - a user's module may raise anything when it is imported
        problem = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(f"scorer {named!r}: cannot be imported ({problem})") from None
    return _scorer(named, found)


def installed_scorer(entry: EntryPoint) -> Scorer:
    """The scorer that an entry point names. Raises `ValueError` where it cannot be loaded."""
    try:
        return _scorer(entry.name, entry.load())
    except Exception as error:  # noqa: BLE001 - a package may raise anything when it is imported
        problem = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(f"scorer {entry.name!r}: its entry point {entry.value} is no good ({problem})") from None


def _scorer(named: str, found: object) -> Scorer:
    if isinstance(found, Scorer):
        return Scorer(named, found.version, found.judge, found.whole)
    if callable(found):
        return scorer_of(found, named)
    raise ValueError(f"scorer {named!r}: is a {type(found).__name__}; give a Scorer or a function(answer, reference)")


@contextmanager
def _current_folder() -> Iterator[None]:
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        yield
    finally:
        if added and here in sys.path:
            sys.path.remove(here)
