"""LongBench v2's own table of results (`result.py`, THUDM/LongBench 2e00731): percent with one decimal.

Rows without a reply are not in its files, and so in no denominator. `compensated`: a reply without a letter counts as a
guess, a quarter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GUESS = 0.25


@dataclass(frozen=True, slots=True)
class Judged:
    """One row with a reply. `difficulty`: easy, hard. `length`: short, medium, long. `letter`: `None` for none."""

    difficulty: str
    length: str
    letter: str | None
    answer: str


def authors_table(rows: Sequence[Judged], *, compensated: bool = False) -> dict[str, float | None]:
    """Percent of `overall`, `easy`, `hard`, `short`, `medium`, `long`; `None` for a group without rows.

    Whatever is not easy counts as hard, and what is neither short nor medium as long, as in the authors' script.
    """
    groups: dict[str, list[float]] = {name: [] for name in ("overall", "easy", "hard", "short", "medium", "long")}
    for row in rows:
        value = GUESS if compensated and row.letter is None else float(row.letter == row.answer)
        groups["overall"].append(value)
        groups["easy" if row.difficulty == "easy" else "hard"].append(value)
        groups[row.length if row.length in ("short", "medium") else "long"].append(value)
    return {name: round(100 * sum(values) / len(values), 1) if values else None for name, values in groups.items()}
