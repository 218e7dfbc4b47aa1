"""Everything of a prompt but how its haystack is cut, and the pieces that it is put together from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.pieces import Counted, Piece, Range, Segment, WindowMemo
from needlework.haystack_fixtures.haystacks.placement import gap
from needlework.haystack_fixtures.haystacks.source import HaystackSource

Places = tuple[int, ...]
"""Characters of a haystack before which needles go in."""


class Part(NamedTuple):
    """Tokens of a part of a prompt that begins or ends at a `place` of the source, where a word begins.

    `tokens`: how many there are, less or more those of the source up to there.
    """

    place: int
    segments: tuple[Segment, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything but the cut. `joined`: needles stand beside the haystack as they are, without a gap.

    `of_context`: a draft counts the tokens of its context alone; with so many characters of `before` and of `after`.
    `heads`, `starts`: those made so far, by their places, where the source goes on behind these; `ending`: what stands
    behind the context, once it is parted.
    """

    before: str
    after: str
    source: HaystackSource
    needles: Sequence[tuple[str, str]]
    depths: Sequence[float]
    bos: int
    memo: WindowMemo
    joined: bool = False
    of_context: tuple[int, int] | None = None
    heads: dict[Places, Head] = field(default_factory=dict, compare=False, repr=False)
    starts: dict[Places, Part | None] = field(default_factory=dict, compare=False, repr=False)
    ending: list[tuple[str, Counted]] = field(default_factory=list, compare=False, repr=False)


class Head(NamedTuple):
    """A prompt up to its last needle, which ends at `end`; `char` characters of the haystack stand before that."""

    pieces: tuple[Piece, ...]
    spans: tuple[tuple[int, int], ...]
    counted: tuple[tuple[int, int], ...]
    char: int
    end: int


def head_of(frame: Frame, cut: Cut, places: Places) -> Head:
    """The head with needles at these places; the same for all cuts where the source goes on behind them."""
    goes_on = all(place < cut.end for place in places)
    found = frame.heads.get(places) if goes_on else None
    if found is None:
        found = _head_of(frame, cut, places)
        if goes_on:
            frame.heads[places] = found
    return found


def rest_of(frame: Frame, cut: Cut, head: Head) -> list[Piece]:
    """The pieces behind a head."""
    return [*_stretch(frame.source, cut, head.char, cut.chars), frame.after]


def _head_of(frame: Frame, cut: Cut, places: Places) -> Head:
    source, closes = frame.source, frame.source.closes
    pieces: list[Piece] = [frame.before]
    here = len(frame.before)
    spans, counted = [(0, 0)] * len(places), [(0, 0)] * len(places)
    char, last = 0, ""  # how much of the haystack stands already, and what the context ends with
    order = sorted(range(len(places)), key=places.__getitem__)
    for position, number in enumerate(order):
        place, needle = places[number], frame.needles[number][1]
        if place > char:
            pieces += _stretch(source, cut, char, place)
            last = _char(source, cut, place - 1)
            here += place - char
            char = place
        ahead = "" if frame.joined else gap(last, needle)
        last_here = all(places[other] > place for other in order[position + 1 :])
        behind = closes
        if not closes and not frame.joined and last_here and place < cut.chars:
            behind = gap(needle, _char(source, cut, place))
        pieces += [ahead, needle, behind]
        start = here + len(ahead)
        spans[number] = (start, start + len(needle))
        counted[number] = (here, start + len(needle) + len(behind))
        here, last = counted[number][1], behind or needle
    return Head(tuple(pieces), tuple(spans), tuple(counted), char, here)


def _stretch(source: HaystackSource, cut: Cut, start: int, end: int) -> list[Piece]:
    """The haystack between two places; a place lies in the source's text, or at the very end."""
    pieces: list[Piece] = [Range(source.encoded, start, min(end, cut.end))] if start < cut.end else []
    if start < end == cut.chars:
        if cut.tail[0] < cut.tail[1]:
            pieces.append(Range(source.encoded, *cut.tail))
        pieces.append(cut.closer)
    return pieces


def _char(source: HaystackSource, cut: Cut, offset: int) -> str:
    """One character of the haystack."""
    if offset < cut.end:
        return source.text[offset]
    offset += cut.tail[0] - cut.end
    return source.text[offset] if offset < cut.tail[1] else cut.closer
