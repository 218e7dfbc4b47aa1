"""`--depths spread`: each sample is asked at one depth, so that its trials at a length are as many as its needles."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.haystack_fixtures.draws import draws, shuffled

SPREAD = "spread"


def spread_depths(depths: Sequence[float | None], seed: int, length: int, repeat: int) -> tuple[float | None, ...]:
    """Return the one depth, of those given, at which a sample is asked at a length.

    Every so many samples as there are depths have each depth once, in a drawn order of their own.
    """
    turn, at = divmod(repeat, len(depths))
    return (shuffled(draws("adaptive", 1, seed, length, turn), depths)[at],)
