"""RULER's protocol: what all of its tasks keep to (C.-P. Hsieh et al., COLM 2024; parameters of its synthetic.yaml)."""

from __future__ import annotations

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.settings.settings import Suite

FAMILY = "ruler"
VERSION = 1
# Percent of the context: where RULER lets needles stand, drawn for each sample without replacement.
DEPTHS = tuple(float(round(100 * number / 39)) for number in range(40))


def seeds(task: str, suite: Suite, cell: Cell, seed: int) -> tuple[object, ...]:
    """What a trial's draws depend on: nothing that length or depth change."""
    return task, VERSION, seed, cell.repeat, suite.language
