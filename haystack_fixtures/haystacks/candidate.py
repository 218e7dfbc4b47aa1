"""A draft: the whole prompt for one way to cut the haystack, with its token count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.pieces import Piece, Range, Spliced, WindowMemo
from needlework.haystack_fixtures.haystacks.placement import Place, gap, place_for
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.haystack_fixtures.haystacks.splice import Seams, splice


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything but the cut. `joined`: needles stand beside the haystack as they are, without a gap.

    `of_context`: a draft counts the tokens of its context alone; with so many characters of `before` and of `after`.
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


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole prompt for one cut, as pieces. `spans`: each needle's characters, `counted`: with the gaps beside it.

    `count`: tokens of the prompt, or of its context where the frame says so.
    """

    cut: Cut
    places: tuple[Place, ...]
    pieces: tuple[Piece, ...]
    spans: tuple[tuple[int, int], ...]
    counted: tuple[tuple[int, int], ...]
    context: tuple[int, int]
    spliced: Spliced
    count: int

    def text(self, source: HaystackSource) -> str:
        """The whole prompt; `source` is that of its haystack."""
        parts = ((each,) if isinstance(each, str) else source.blocks(each.start, each.end) for each in self.pieces)
        return "".join(chain.from_iterable(parts))


def draft_of(frame: Frame, cut: Cut) -> Draft:
    """Put template, haystack and needles together and count them."""
    places = tuple(place_for(frame.source, depth, cut) for depth in frame.depths)
    order = sorted(range(len(places)), key=lambda number: places[number].char)
    pieces: list[Piece] = [frame.before]
    begin = here = len(frame.before)
    spans, counted = [(0, 0)] * len(order), [(0, 0)] * len(order)
    chars = cut.chars
    closes = frame.source.closes
    char, last = 0, ""  # how much of the haystack stands already, and what the context ends with
    for position, number in enumerate(order):
        place, needle = places[number].char, frame.needles[number][1]
        if place > char:
            pieces += _stretch(frame.source, cut, char, place)
            last = _char(frame.source, cut, place - 1)
            here += place - char
            char = place
        ahead = "" if frame.joined else gap(last, needle)
        last_here = all(places[other].char > place for other in order[position + 1 :])
        behind = closes
        if not closes and not frame.joined and last_here and place < chars:
            behind = gap(needle, _char(frame.source, cut, place))
        pieces += [ahead, needle, behind]
        start = here + len(ahead)
        spans[number] = (start, start + len(needle))
        counted[number] = (here, start + len(needle) + len(behind))
        here, last = counted[number][1], behind or needle
    pieces += _stretch(frame.source, cut, char, chars)
    here += chars - char
    pieces.append(frame.after)
    spliced = splice(pieces, frame.memo, frame.source.remember(("seams", frame.memo), Seams))
    if frame.of_context is None:
        count = spliced.count + frame.bos
    else:
        ahead_of_it, behind_it = frame.of_context
        count = spliced.tokens_before(here + behind_it) - covering(spliced, begin - ahead_of_it)
    return Draft(cut, places, tuple(pieces), tuple(spans), tuple(counted), (begin, here), spliced, count)


def covering(spliced: Spliced, place: int) -> int:
    """The first token with text at or after a place."""
    index = spliced.tokens_before(place)
    return index if spliced.start(index) == place else max(0, index - 1)


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
