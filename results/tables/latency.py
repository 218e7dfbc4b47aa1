"""Latency by length in words: for the terminal, when it is asked for, and for the report."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.statistics.latency import LatencyRow, Times
from needlework.results.style.text import length_labels, one_line, percent
from needlework.results.tables.columns import NONE, aligned
from needlework.results.tables.documents import Table

CAPTION = "median and 95th percentile of answered requests: to the last token, to the first, of each further token"
_HEAD = (
    "model",
    "length",
    "n",
    "latency s",
    "p95",
    "first token s",
    "p95",
    "ms a token",
    "p95",
    "tokens/s",
    "cached %",
)
_ALWAYS = 5  # columns from the left that every table has


def latency_table(rows: Sequence[LatencyRow]) -> Table:
    """A row for each model and length; columns that nothing fills are left out."""
    labels = dict(zip([row.length for row in rows], length_labels([row.length for row in rows]), strict=True))
    cells = [_cells(row, labels[row.length]) for row in rows]
    kept = [at for at in range(len(_HEAD)) if at < _ALWAYS or any(row[at] != NONE for row in cells)]
    several = len({row.model for row in rows}) > 1
    kept = kept if several else kept[1:]
    return Table(
        CAPTION,
        tuple(_HEAD[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in cells),
        names=2 if several else 1,
    )


def latency_notes(rows: Sequence[LatencyRow], at_once: Sequence[str] = ()) -> list[str]:
    """What is to be known of the numbers. `at_once`: how requests were sent, as the run knows it."""
    earlier, n = sum(row.earlier for row in rows), sum(row.n for row in rows)
    told = [f"{earlier} of {n} answers were measured in an earlier session"] if earlier else []
    if any(row.cached for row in rows):
        told.append("cached %: prompt tokens that a cache held, which are faster than the model")
    return [*at_once, *told]


def latency_lines(rows: Sequence[LatencyRow], at_once: Sequence[str] = (), *, ascii_only: bool = False) -> list[str]:
    """The table for a terminal; nothing where nothing was measured."""
    if not rows:
        return []
    table = latency_table(rows)
    lines = ["Latency by length", *(f"  {line}" for line in aligned((table.head, *table.rows), table.names))]
    lines += [f"  {table.caption}", *(f"  {one_line(note)}" for note in latency_notes(rows, at_once))]
    return [line.replace("–", "-") for line in lines] if ascii_only else lines


def _cells(row: LatencyRow, label: str) -> tuple[str, ...]:
    rate = NONE if row.tokens_per_s is None else f"{row.tokens_per_s:,.1f}"
    cached = percent(row.cached) if row.cached else NONE
    return (
        one_line(row.model), label, str(row.n), *_both(row.latency_s), *_both(row.ttft_s),
        *_both(row.token_s, 1_000), rate, cached,
    )  # fmt: skip


def _both(times: Times | None, scale: float = 1) -> tuple[str, str]:
    return (NONE, NONE) if times is None else (_three(scale * times.median), _three(scale * times.p95))


def _three(value: float) -> str:
    """Three digits that count, never fewer than all whole ones: 0.0123, 1.23, 123, 1,234."""
    if value >= 100:
        return f"{value:,.0f}"
    digits = 1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4
    return f"{value:.{digits}f}"
