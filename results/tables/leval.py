"""L-Eval's averages of a run in words: for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.statistics.published.leval import LevalSummary
from needlework.results.style.text import length_labels, one_line
from needlework.results.tables.columns import NONE, aligned, ends, percent2
from needlework.results.tables.documents import Table

_PLAIN = str.maketrans({"·": "|", "–": "-"})
_SHOWN = 3
_RULES = {
    "strict": "scored by the rules without L-Eval's quirks; needlework leval-export RUN gives the published ones too",
    "compat": "scored as L-Eval's own code does",
    "mixed": "scored by several kinds of rules: not comparable with L-Eval's tables",
}


def leval_lines(found: Sequence[LevalSummary], *, ascii_only: bool = False) -> list[str]:
    """The averages of each model, length and retriever; none for a run with fewer than two tasks of L-Eval."""
    lines: list[str] = []
    for each in found:
        table = leval_table(each)
        lines += [*([""] if lines else []), leval_name(each)]
        lines += [f"  {line}" for line in aligned((table.head, *table.rows), table.names)]
        lines += [f"  {note}" for note in leval_notes(each)]
    return [line.translate(_PLAIN) if ascii_only else line for line in lines]


def leval_name(found: LevalSummary) -> str:
    """`L-Eval · model · 16k`, with the retriever where there is one."""
    parts = ("L-Eval", found.model, length_labels([found.length])[0], found.retriever)
    return one_line(" · ".join(filter(None, parts)))


def leval_table(found: LevalSummary) -> Table:
    """A row for each average."""
    rows = tuple(
        (
            each.name,
            percent2(each.score.value),
            ends(each.score),
            f"{len(each.tasks)} of {each.of}",
            str(each.n),
            str(each.unscored) if each.unscored else NONE,
        )
        for each in found.averages
    )
    head = ("average", "score %", "95 %", "tasks", "n", "unscored")
    kept = [at for at in range(len(head)) if head[at] != "unscored" or any(row[at] != NONE for row in rows)]
    return Table(
        "each task weighs the same",
        tuple(head[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in rows),
    )


def leval_notes(found: LevalSummary) -> list[str]:
    """By which rule, and which averages are not the published ones because something is missing."""
    lacking: dict[tuple[str, ...], list[str]] = {}
    for each in found.averages:
        if each.missing and each.name != "all tasks":
            lacking.setdefault(each.missing, []).append(each.name.removesuffix(" average"))
    return [_RULES[found.rule], *(_lacking(", ".join(names), missing) for missing, names in lacking.items())]


def _lacking(names: str, missing: Sequence[str]) -> str:
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return f"{names}: not the published average, without {', '.join(missing[:_SHOWN])}{more}"
