"""A draft: the whole prompt for one way to cut the haystack, with its token count."""

from __future__ import annotations

from dataclasses import dataclass

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import Frame, Places, head_of, rest_of
from needlework.haystack_fixtures.haystacks.parts import count_of, spliced_in_parts
from needlework.haystack_fixtures.haystacks.pieces import Piece, Spliced
from needlework.haystack_fixtures.haystacks.placement import place_for
from needlework.haystack_fixtures.haystacks.splice import Seams, splice


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole prompt for one cut, as pieces. `spans`: each needle's characters, `counted`: with the gaps beside it.

    `count`: tokens of the prompt, or of its context where the frame says so.
    """

    cut: Cut
    places: Places
    pieces: tuple[Piece, ...]
    spans: tuple[tuple[int, int], ...]
    counted: tuple[tuple[int, int], ...]
    context: tuple[int, int]
    spliced: Spliced
    count: int


def draft_of(frame: Frame, cut: Cut) -> Draft:
    """Put template, haystack and needles together and count them."""
    source, memo = frame.source, frame.memo
    places = _places(frame, cut)
    head = head_of(frame, cut, places)
    pieces = (*head.pieces, *rest_of(frame, cut, head))
    spliced = spliced_in_parts(frame, cut, places)
    if spliced is None:
        spliced = splice(pieces, memo, source.remember(("seams", memo), Seams))
    begin, end = len(frame.before), head.end + cut.chars - head.char
    if frame.of_context is None:
        count = spliced.count + frame.bos
    else:
        ahead_of_it, behind_it = frame.of_context
        count = spliced.tokens_before(end + behind_it) - covering(spliced, begin - ahead_of_it)
    return Draft(cut, places, pieces, head.spans, head.counted, (begin, end), spliced, count)


def counted(frame: Frame, cut: Cut) -> tuple[int, Draft | None]:
    """The count of a cut's draft, and the draft where that has to be made for it."""
    count = count_of(frame, cut, _places(frame, cut))
    if count is not None:
        return count, None
    draft = draft_of(frame, cut)
    return draft.count, draft


def _places(frame: Frame, cut: Cut) -> Places:
    return tuple([place_for(frame.source, depth, cut) for depth in frame.depths])


def covering(spliced: Spliced, place: int) -> int:
    """The first token with text at or after a place."""
    index = spliced.tokens_before(place)
    return index if spliced.start(index) == place else max(0, index - 1)
