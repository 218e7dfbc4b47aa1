"""`--depths spread`: each sample is asked at one depth, so that its trials at a length are as many as its needles.

Where the needles are many questions on documents, each question has a depth of its own.
"""

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


def spread_questions(depths: Sequence[float | None], seed: int, question: int, repeat: int) -> tuple[float | None, ...]:
    """Return the one depth at which a question of a repeat is asked, the same at every length.

    So lengths differ in nothing else. Every so many questions as there are depths have each depth once, in a drawn
    order of their own; further repeats of a question go through the other depths in turn.
    """
    turn, at = divmod(question, len(depths))
    start = shuffled(draws("spread questions", seed, turn), range(len(depths)))[at]
    return (depths[(start + repeat) % len(depths)],)
