"""A draft: the whole prompt for one way to cut the haystack, with its token count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.pieces import Piece, Range, Segment, Spliced, WindowMemo
from needlework.haystack_fixtures.haystacks.placement import Place, gap, place_for
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.haystack_fixtures.haystacks.splice import Seams, splice
from needlework.haystack_fixtures.haystacks.word_splice import next_word, splice_at_words


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything but the cut. `joined`: needles stand beside the haystack as they are, without a gap.

    `of_context`: a draft counts the tokens of its context alone; with so many characters of `before` and of `after`.
    `heads`: those made so far, by their places.
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
    heads: dict[tuple[int, ...], Head] = field(default_factory=dict, compare=False, repr=False)


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


def draft_of(frame: Frame, cut: Cut) -> Draft:
    """Put template, haystack and needles together and count them."""
    source = frame.source
    places = _places(frame, cut)
    head, rest = _parts(frame, cut, places)
    pieces = (*head.pieces, *rest)
    tail = _tail(frame, head, cut, rest)
    if head.spliced is None or tail is None:
        spliced = splice(pieces, frame.memo, source.remember(("seams", frame.memo), Seams))
    else:
        place = head.end + head.split - head.char
        spliced = Spliced((*head.spliced.segments, *[(text, low, high, at + place) for text, low, high, at in tail]))
    begin, end = len(frame.before), head.end + cut.chars - head.char
    if frame.of_context is None:
        count = spliced.count + frame.bos
    else:
        ahead_of_it, behind_it = frame.of_context
        count = spliced.tokens_before(end + behind_it) - covering(spliced, begin - ahead_of_it)
    return Draft(cut, places, pieces, head.spans, head.counted, (begin, end), spliced, count)


def count_of(frame: Frame, cut: Cut) -> int | None:
    """The count of a cut's draft where it can be had without making that: mostly, if the tokenizer's words stand
    apart."""
    places = _places(frame, cut)
    if frame.of_context is not None or not frame.memo.words_apart or not _goes_on(cut, places):
        return None
    head, rest = _parts(frame, cut, places)
    tail = _tail(frame, head, cut, rest)
    if tail is None:
        return None
    return head.tokens + sum([high - low for _, low, high, _ in tail]) + frame.bos


def _places(frame: Frame, cut: Cut) -> tuple[Place, ...]:
    return tuple([place_for(frame.source, depth, cut) for depth in frame.depths])


def _goes_on(cut: Cut, places: tuple[Place, ...]) -> bool:
    """Whether the source goes on behind the last needle."""
    return all(place.char < cut.end for place in places)


def _parts(frame: Frame, cut: Cut, places: tuple[Place, ...]) -> tuple[Head, list[Piece]]:
    """The prompt up to its last needle, and the pieces behind it."""
    chars = tuple([place.char for place in places])
    if _goes_on(cut, places):  # then the head is the same for all cuts
        head = frame.heads.get(chars)
        if head is None:
            head = frame.heads[chars] = _head_of(frame, cut, chars)
    else:
        head = _head_of(frame, cut, chars)
    return head, [*_stretch(frame.source, cut, head.char, cut.chars), frame.after]


def _tail(frame: Frame, head: Head, cut: Cut, rest: Sequence[Piece]) -> Sequence[Segment] | None:
    """The tokens behind the head's; `None` where they cannot be told apart from these."""
    if head.spliced is None or head.split >= cut.end:
        return None
    found = splice_at_words([Range(frame.source.encoded, head.split, cut.end), *rest[1:]], frame.memo)
    return None if found is None else found.segments


class Head(NamedTuple):
    """A prompt up to its last needle, which ends at `end`; `char` characters of the haystack stand before that.

    `split`, `spliced`, `tokens`: the next place of the source at which a word begins, the tokens up to there, and how
    many these are.
    """

    pieces: tuple[Piece, ...]
    spans: tuple[tuple[int, int], ...]
    counted: tuple[tuple[int, int], ...]
    char: int
    end: int
    split: int
    spliced: Spliced | None
    tokens: int


def _head_of(frame: Frame, cut: Cut, places: tuple[int, ...]) -> Head:
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
    split, spliced = -1, None
    if frame.memo.words_apart and char < cut.end:
        split = next_word(source.text, char, cut.end)
        if split > 0:
            spliced = splice_at_words([*pieces, Range(source.encoded, char, split)], frame.memo)
    return Head(
        tuple(pieces), tuple(spans), tuple(counted), char, here, split, spliced, spliced.count if spliced else 0
    )


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
