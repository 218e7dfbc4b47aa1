"""The walk over the lengths: a pure function of the design and of the answers, in whatever order they came.

Looks are made one by one, so that what is decided does not depend on how many trials are in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from needlework.results.adaptive.boundaries import boundaries_of
from needlework.results.adaptive.design import Design
from needlework.results.adaptive.plan import Column, Part, bracket, next_parts


@dataclass(frozen=True, slots=True)
class Seen:
    """The first so many trials of a length: the scores there are, the trials that had none, and what is to be asked.

    `missing`: repeats; while there are any, the look cannot be made. `hopeless`: too many trials had no score.
    """

    scores: Sequence[float]
    missing: tuple[int, ...] = ()
    lost: int = 0
    hopeless: bool = False


See = Callable[[int, int], Seen]
"""The first n trials of the length with a number."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Looks at one length, from so many trials to so many."""

    at: int
    begun: int
    ended: int


@dataclass(frozen=True, slots=True)
class Walk:
    """How far the answers lead. `parts`: what the open turn and its plan ask, empty when the walk has come to its end;
    the first of them stands at the look whose trials are missing."""

    design: Design
    columns: tuple[Column, ...]
    turns: tuple[Turn, ...]
    parts: tuple[Part, ...]

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be asked."""
        return not self.parts

    @property
    def bracket(self) -> tuple[int, int]:
        """How many lengths hold the bar: at least, and at most."""
        return bracket(self.columns)


def walk(design: Design, see: See) -> Walk:
    """Go as far as the answers lead."""
    columns = [Column() for _ in design.lengths]
    turns: list[Turn] = []
    while parts := next_parts(design, columns):
        first = parts[0]
        begun = columns[first.at].n
        while not columns[first.at].decision and columns[first.at].n < begun + first.trials:
            if columns[first.at].looks == len(design.looks):
                break
            column = _looked(design, columns[first.at], first.at, see)
            if column is None:
                left = Part(first.at, begun + first.trials - columns[first.at].n)
                done = [Turn(first.at, begun, columns[first.at].n)] * (columns[first.at].n > begun)
                return Walk(design, tuple(columns), (*turns, *done), (left, *parts[1:]))
            columns[first.at] = column
        turns.append(Turn(first.at, begun, columns[first.at].n))
    return Walk(design, tuple(columns), tuple(turns), ())


def asked_next(found: Walk, see: See, width: int) -> list[tuple[int, int]]:
    """Return the (number of a length, repeat) to send next: what the look needs, and up to `width` that may be needed.

    After the look: the rest of the turn, the other parts of its plan, and one more look at the same length; never a
    length that was not asked yet.
    """
    asked: dict[tuple[int, int], None] = {}
    for number, (at, n) in enumerate(_looks_ahead(found)):
        if number and len(asked) >= width:
            break
        for repeat in see(at, n).missing:
            if number and len(asked) >= width:
                break
            asked[at, repeat] = None
    return list(asked)


def _looks_ahead(found: Walk) -> Iterator[tuple[int, int]]:
    design = found.design
    for number, part in enumerate(found.parts):
        column = found.columns[part.at]
        if number and not column.n:
            continue
        yield from ((part.at, look) for look in _looks_of(design, column, part))
    if found.parts:
        first, column = found.parts[0], found.columns[found.parts[0].at]
        after = column.looks + len(_looks_of(design, column, first))
        yield from ((first.at, look) for look in design.looks[after : after + 1])


def _looks_of(design: Design, column: Column, part: Part) -> list[int]:
    """The looks of a part of a turn, to the first that has all of its trials."""
    coming = design.looks[column.looks :]
    return [look for at, look in enumerate(coming) if not at or coming[at - 1] < column.n + part.trials]


def _looked(design: Design, column: Column, at: int, see: See) -> Column | None:
    """A length after its next look; `None` while trials are missing."""
    n = design.looks[column.looks]
    seen = see(at, n)
    if seen.hopeless:
        return Column(column.n, column.total, column.looks, "not measurable")
    if seen.missing:
        return None
    return Column(n, fsum(seen.scores), column.looks + 1, boundaries_of(design).verdict(column.looks, seen.scores))
