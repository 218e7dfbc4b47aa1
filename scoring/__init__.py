"""Scoring answers: what a test or a scorer of one's own needs.

>>> from needlework.scoring import Reference, scorer_named
>>> scorer_named("match").judge("The code is 4711.", Reference(("4711",))).value
1.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from needlework.scoring.registry import scorer_named, scorer_of
    from needlework.scoring.scores import Reference, Score, Scorer

__all__ = ["Reference", "Score", "Scorer", "scorer_named", "scorer_of"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "registry" if name.startswith("scorer_") else "scores"
    return getattr(import_module(f"needlework.scoring.{home}"), name)
