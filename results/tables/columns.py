"""Tables for terminals: columns of one width, percent with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.results.statistics.agreement.rates import Agreement
from needlework.results.statistics.tasks import Share
from needlework.results.style.text import display_width, one_line

NONE = "–"


def aligned(rows: Sequence[Sequence[str]], names: int) -> Iterator[str]:
    """Columns of one width; the first `names` are names, to the left, the others numbers, to the right."""
    widths = [max(display_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padding = [" " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            cell + pad if at < names else pad + cell for at, (cell, pad) in enumerate(zip(row, padding, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def percent2(value: float | None) -> str:
    """A share of 0..1 as percent with two decimals, as published tables have it."""
    return NONE if value is None else f"{100 * value:.2f}"


def ends(share: Share) -> str:
    """The interval of a share of 0..1, in percent."""
    return NONE if share.low is None or share.high is None else f"{100 * share.low:.1f}–{100 * share.high:.1f}"


def agreement_lines(found: Agreement, rows: str, columns: str) -> Iterator[str]:
    """How far two agree, and the table of their labels; `rows` and `columns` say whose labels they are."""
    kappa = found.kappa
    span = NONE if kappa.low is None or kappa.high is None else f"{kappa.low:.3f} to {kappa.high:.3f}"
    told = f"{found.n} verdicts on {found.items} items"
    yield f"{rows} and {columns} agree: {percent2(found.agreement.value)} % ({ends(found.agreement)}), {told}"
    yield f"  Cohen's kappa: {NONE if kappa.value is None else f'{kappa.value:.3f}'} ({span})"
    names = [one_line(label) for label in found.labels]
    table = [(name, *map(str, counts)) for name, counts in zip(names, found.table, strict=True)]
    yield from (f"  {line}" for line in aligned([(f"{rows} \\ {columns}", *names), *table], names=1))
