"""Tables for terminals: columns of one width, percent with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from results.statistics.tasks import Share
from results.text import display_width

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
