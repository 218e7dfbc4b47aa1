"""What a task is: how needles, depths and the question of a trial are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from haystack_fixtures.cells import Cell
from haystack_fixtures.needles.needle import Needle
from haystack_fixtures.settings import Suite


@dataclass(frozen=True, slots=True)
class Asked:
    """What one trial asks.

    `needles` go into the haystack at `depths` (percent of the needle-free haystack, one each). `reference` has the
    fields of `scoring.scores.Reference`. `answer` is a right answer as a person would give it.
    """

    needles: tuple[Needle, ...]
    depths: tuple[float, ...]
    question: str
    answer: str
    reference: dict[str, Any]
    joint: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A family of cells.

    `labels(suite)`: needle labels, one series of cells each. `depths(suite)`: depths of its cells in percent.
    `ask(suite, cell, seed)`: the trial; depends on nothing else, and not on the cell's depth or length but for
    `depths`.
    """

    name: str
    about: str
    labels: Callable[[Suite], tuple[str, ...]]
    depths: Callable[[Suite], tuple[float | None, ...]]
    ask: Callable[[Suite, Cell, int], Asked]


def labelled(name: str, suite: Suite) -> str:
    """A needle's label in ids: `code`, `code_zh`."""
    return name if suite.language == "en" else f"{name}_{suite.language}"
