"""Refusals in every language that the tables know; English and Chinese ones as `polarity` has them."""

from __future__ import annotations

from needlework.scoring.answers.cues import cue_pattern
from needlework.scoring.answers.polarity import refusal_end

_READ = 2000


def declined_until(text: str) -> int | None:
    """Find where the last words end that decline to answer or say that the answer is not there."""
    ends = [found.end() for found in cue_pattern("refuse").finditer(text[:_READ])]
    first = refusal_end(text)
    if first is not None:
        ends.append(first)
    return max(ends, default=None)
