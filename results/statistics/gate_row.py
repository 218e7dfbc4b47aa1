"""What a run's gates decided, as its report has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GateRow:
    """One verdict. `gate`: as it was written; `group`: the cells that it is about; `verdict`: pass, fail, inconclusive.

    `value`: mean score, low end or drop, 0..1 (-1..1), `None` where nothing was scored; `low`, `high`: the interval of
    the mean at `level` percent; `n`: trials with a score, or pairs; `remark`: what else decided, in words. `selected`:
    the run's trials of the cells that its command selects, which all its gates are judged on.
    """

    gate: str
    group: str
    verdict: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    remark: str
    selected: int


def selection_words(rows: Sequence[GateRow], recorded: int) -> str:
    """What to say where a run's `recorded` trials are more than its gates were judged on; else empty."""
    selected = rows[0].selected if rows else recorded
    if selected >= recorded:
        return ""
    return f"judged on {selected:,} of the run's {recorded:,} trials: the cells that its command selects"
