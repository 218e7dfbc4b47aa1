"""RULER's summary as a table of the report: a row for each length, and its means over lengths below."""

from __future__ import annotations

from needlework.results.statistics.published.ruler import TASKS, RulerTable
from needlework.results.style.text import length_labels, one_line, percent1
from needlework.results.tables.columns import NONE
from needlework.results.tables.documents import Table

_SHOWN = 4  # tasks without a score that are named


def ruler_name(found: RulerTable) -> str:
    """`RULER · model · en`."""
    return one_line(f"RULER · {found.model} · {found.language}")


def ruler_table(found: RulerTable) -> Table:
    """A row for each length: columns that nothing fills are left out."""
    labels = length_labels([each.length for each in found.lengths])
    head = ("length", "score %", "95 % interval", "strict %", "n", "cut off (count as 0)", "unscored")
    rows = [
        (
            label,
            _percent(each.mean),
            NONE if each.low is None or each.high is None else f"{percent1(each.low)}–{percent1(each.high)}",
            _percent(each.strict),
            str(each.n),
            str(each.cut) if each.cut else NONE,
            str(each.unscored) if each.unscored else NONE,
        )
        for label, each in zip(labels, found.lengths, strict=True)
    ]
    kept = [at for at in range(len(head)) if at < 2 or any(row[at] != NONE for row in rows)]
    return Table(
        f"score: the mean of {len(TASKS)} tasks, each weighing the same",
        tuple(head[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in rows),
    )


def ruler_notes(found: RulerTable) -> list[str]:
    """The published means over lengths, the effective length, and why a length has no mean."""
    labels = length_labels([each.length for each in found.lengths])
    notes = []
    if found.increasing is not None and found.decreasing is not None:
        notes.append(f"wAvg(inc) {percent1(found.increasing)}, wAvg(dec) {percent1(found.decreasing)}")
    if any(each.mean is not None for each in found.lengths):
        notes.append(f"effective length, {found.effective.text}")
    for label, each in zip(labels, found.lengths, strict=True):
        names = [name.removeprefix("ruler_") for name in each.missing]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        if names:
            notes.append(f"{label}: no mean, as there is no score for {', '.join(names[:_SHOWN])}{more}")
    if found.scorers:
        notes.append(f"scored by {', '.join(found.scorers)}, not as RULER does")
    return [one_line(note) for note in notes]


def _percent(value: float | None) -> str:
    return NONE if value is None else percent1(value)
