"""The tables of the published benchmarks in words: ours, and what each of the others would say of the same answers."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.statistics.published.field import MRCR, FieldTable, Group
from needlework.results.style.text import one_line, percent1
from needlework.results.tables.columns import NONE, aligned
from needlework.results.tables.documents import Table
from needlework.results.tables.headline import score_and_interval

_PLAIN = str.maketrans({"·": "|", "–": "-"})
_UNREAD = {"graphwalks": "no list"}


def field_lines(found: Sequence[FieldTable], *, ascii_only: bool = False) -> list[str]:
    """The lines of every table; none for a run of other tasks."""
    lines: list[str] = []
    for each in found:
        table = field_group_table(each)
        lines += [*([""] if lines else []), field_name(each)]
        lines += [f"  {line}" for line in aligned((table.head, *table.rows), table.names)]
        lines += [f"  {one_line(note)}" for note in each.notes]
    return [line.translate(_PLAIN) if ascii_only else line for line in lines]


def field_name(found: FieldTable) -> str:
    """`model · openai_mrcr · 240 answers`."""
    return one_line(f"{found.model} · {found.task} · {found.groups[0].score.trials:,} answers")


def field_group_table(found: FieldTable) -> Table:
    """A row for each group; columns that nothing fills are left out."""
    whose = list(dict.fromkeys(who for group in found.groups for who in group.others))
    mrcr = found.task in MRCR
    missing = "no string" if mrcr else _UNREAD.get(found.task, "no letter")
    head = ["group", "score %", "95 %", "n", "chance %", "corrected %", *(f"{who} %" for who in whose)]
    head += ["noise %", missing, *(["another piece"] if mrcr else []), "unscored"]
    rows = [_cells(group, whose, mrcr=mrcr) for group in found.groups]
    kept = [at for at in range(len(head)) if at < 4 or any(row[at] not in (NONE, "") for row in rows)]
    return Table(
        "score: ours; the other columns: what each published rule gives the same answers"
        + ("; noise: what it gives for any piece of the ask" if any(each.noise for each in found.groups) else ""),
        tuple(head[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in rows),
    )


def _cells(group: Group, whose: Sequence[str], *, mrcr: bool) -> list[str]:
    unscored = ", ".join(f"{count} {name}" for name, count in group.score.unscored.items())
    shares = [NONE if who not in group.others else percent1(group.others[who]) for who in whose]
    corrected = group.corrected.value
    return [
        one_line(group.name),
        *score_and_interval(group.score),
        str(group.score.n),
        percent1(group.chance) if group.chance else NONE,
        NONE if corrected is None or not group.chance else _signed(corrected),
        *shares,
        NONE if group.noise is None else percent1(group.noise),
        str(group.unread),
        *([str(group.another)] if mrcr else []),
        unscored,
    ]


def _signed(share: float) -> str:
    """A share in percent that may lie below 0."""
    return percent1(share) if 0 <= share <= 1 else f"{100 * share:.1f}"
