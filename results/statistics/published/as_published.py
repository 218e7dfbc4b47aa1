"""What others' own scripts would print of the same answers: LongBench v2's table, and the bins of two harnesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from needlework.scoring.published.longbench_v2 import authors_letter
from needlework.scoring.published.longbench_v2_table import GUESS, Judged, authors_table
from needlework.scoring.published.mrcr_bins import card_bin, harness_bin


def judged(reply: str, *, difficulty: object, length: object, answer: str) -> Judged | None:
    """A reply as LongBench v2's authors judge it; `None` for an empty one, which their files do not have."""
    if not reply.strip() or not difficulty or not length:
        return None
    return Judged(str(difficulty), str(length), authors_letter(reply), answer)


def authors_notes(rows: Iterable[Judged | None]) -> list[str]:
    """The numbers of the authors' `result.py`, in percent, without and with a quarter for replies without a letter."""
    found = [row for row in rows if row is not None]
    if not found:
        return []
    plain, compensated = authors_table(found), authors_table(found, compensated=True)
    told = [f"as LongBench's result.py prints it, {len(found)} replies: {_listed(plain)}"]
    if compensated != plain:
        told.append(f"with {GUESS} for a reply without a letter: {_listed(compensated)}")
    return told


def bins_note(tokens: Sequence[int]) -> list[str]:
    """How many rows of so many tokens openbench and evalscope count in another bin than the data card."""
    moved = sum(harness_bin(each) != card_bin(each) for each in tokens)
    return [f"openbench and evalscope count {moved} of {len(tokens)} rows in another bin"] if moved else []


def _listed(table: dict[str, float | None]) -> str:
    return ", ".join(f"{name} {value}" for name, value in table.items() if value is not None)
