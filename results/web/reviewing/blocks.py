"""A text in pieces that a browser lays out one by one, so that one of megabytes scrolls like a short one."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 2000  # characters


def blocks_of(text: str) -> list[str]:
    """Cut a text at line ends, and longer lines at spaces; the pieces together are the text."""
    blocks: list[str] = []
    held: list[str] = []
    length = 0
    for piece in _pieces(text):
        if held and length + len(piece) > LONGEST:
            blocks.append("".join(held))
            held, length = [], 0
        held.append(piece)
        length += len(piece)
    return [*blocks, "".join(held)] if held else blocks


def _pieces(text: str) -> Iterator[str]:
    """Lines with their ends; none is longer than `LONGEST`."""
    start = 0
    while start < len(text):
        end = text.find("\n", start, start + LONGEST) + 1
        if not end:
            end = start + LONGEST
            if end < len(text):
                end = text.rfind(" ", start, end) + 1 or end
        yield text[start:end]
        start = end
