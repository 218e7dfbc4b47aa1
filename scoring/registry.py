"""Scorers by name, and scorers of the user's own."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType

from needlework.scoring.leval import exact, overlap
from needlework.scoring.match import match
from needlework.scoring.published import data_sets, opencompass, ruler
from needlework.scoring.reading import verdict_for
from needlework.scoring.scorers import documents, sets, values
from needlework.scoring.scores import Reference, Score, Scorer

_MODULES = (match, documents, values, sets, ruler, data_sets, opencompass, exact, overlap)
SCORERS = MappingProxyType(
    {each.name: each for module in _MODULES for each in vars(module).values() if isinstance(each, Scorer)}
)
"""Scorers by name."""


def scorer_named(name: str) -> Scorer:
    """Return the scorer of a name: one of ours, of a package, or one's own as `module:attribute`.

    Modules of the current folder are found too. Judges are made by `judges.judged`. Raises `ValueError` where there is
    none.
    """
    if name in SCORERS:
        return SCORERS[name]
    if ":" in name.strip(":"):
        return _loaded(EntryPoint(name, name, GROUP), "cannot be imported")
    others = {each.name: each for each in entry_points(group=GROUP)}
    if entry := others.get(name):
        return _loaded(entry, f"its entry point {entry.value} is no good")
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
    """The name of a scorer: its `name`, its `__name__`, or its type's."""
    return str(getattr(scorer, "name", None) or getattr(scorer, "__name__", None) or type(scorer).__name__)


def version_of(scorer: object) -> int:
    """A scorer's version; 1 where it has none."""
    version = getattr(scorer, "version", 1)
    return version if isinstance(version, int) else 1


def _loaded(entry: EntryPoint, fault: str) -> Scorer:
    """The scorer of an entry point, under its name; also from a module of the current folder. Raises `ValueError`."""
    name, here = entry.name, str(Path.cwd())
    sys.path.insert(0, here)
    try:
        scorer = entry.load()
    except Exception as error:  # noqa: BLE001 - the module of a user or a package may raise anything
        problem = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(f"scorer {name!r}: {fault} ({problem})") from None
    finally:
        with suppress(ValueError):
            sys.path.remove(here)
    if isinstance(scorer, Scorer):
        return replace(scorer, name=name)
    if callable(scorer):
        return scorer_of(scorer, name)
    raise ValueError(f"scorer {name!r}: is a {type(scorer).__name__}; give a Scorer or a function(answer, reference)")
