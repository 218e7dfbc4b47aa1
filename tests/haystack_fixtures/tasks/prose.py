"""Trials of families whose statements stand in prose, over the cheapest corpus."""

from __future__ import annotations

from hypothesis import strategies as st

from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import Trial
from tests.haystack_fixtures.tasks.built import build, builder, settings_of

seeds = st.integers(0, 10_000)
languages = st.sampled_from(("en", "zh"))


def trials_of(task: str, control: str = "", **options: str) -> list[Trial]:
    """The trials of a task that are no controls, or those of one control; 2k tokens where nothing else is said."""
    given = {"corpus": "noise", "lengths": "2k", "depths": "50"} | options
    made = builder(task, **given)
    return [
        build(made, series.suite, cell)
        for series in grid(settings_of(task, **given))
        for cell in series.cells
        if next((name for name in ("absent", "focused") if cell.needle.endswith(f"_{name}")), "") == control
    ]
