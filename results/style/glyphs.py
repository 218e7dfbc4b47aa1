"""A score as one character of a terminal."""

from __future__ import annotations

from math import floor

BLOCKS = "▁▂▃▄▅▆▇█"


def score_glyph(score: float, ascii_only: bool = False) -> str:
    """Return one character for a score in 0..1: `▁`..`█`, or `0`..`9`. Only a full score has the last one."""
    glyphs = "0123456789" if ascii_only else BLOCKS
    return glyphs[min(len(glyphs) - 1, max(0, floor(score * (len(glyphs) - 1))))]


def can_encode(encoding: str | None) -> bool:
    """Whether a stream with this encoding can show the block characters."""
    try:
        BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
