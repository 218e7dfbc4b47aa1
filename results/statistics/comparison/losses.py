"""What one of two runs could not answer: trials that the other scored and that have no score in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from needlework.results.records.record import OutcomeName

Side = Literal[0, 1]
"""Of two runs: 0 is A, 1 is B."""


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses of one run, `side`. `of`: trials in both runs that the other one scored; `outcomes`: what became of
    the lost ones; `by_length`: of each length (tokens) with losses, how many and of how many.
    """

    side: Side
    of: int
    outcomes: Mapping[OutcomeName, int]
    by_length: Mapping[int, tuple[int, int]]

    @property
    def lost(self) -> int:
        """How many trials were lost."""
        return sum(self.outcomes.values())


def losses_of(trials: Iterable[tuple[int, tuple[OutcomeName, OutcomeName], tuple[bool, bool]]]) -> tuple[Losses, ...]:
    """Return the losses of A and of B, those there are. A trial in both runs is its length (tokens), its outcomes in A
    and in B, and whether each of the two has a score."""
    both = list(trials)
    found = []
    for side in (0, 1):
        asked = [(length, outcomes[side], scored[side]) for length, outcomes, scored in both if scored[1 - side]]
        lost = [(length, outcome) for length, outcome, scored in asked if not scored]
        at, of = Counter(length for length, _ in lost), Counter(length for length, _, _ in asked)
        if lost:
            places = {length: (at[length], of[length]) for length in sorted(at)}
            outcomes = Counter(outcome for _, outcome in lost)
            found.append(Losses(side, len(asked), dict(sorted(outcomes.items())), places))
    return tuple(found)


def certain_sign(losses: Iterable[Losses]) -> Literal[-1, 0, 1]:
    """-1 where B alone has trials that did not fit its window, 1 where A alone has; no sampling decides of those."""
    sides = {each.side for each in losses if each.outcomes.get("skipped")}
    return (-1 if sides == {1} else 1) if len(sides) == 1 else 0
