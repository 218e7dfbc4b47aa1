"""Tokens of pieces for tokenizers whose words stand apart: only the words at the seams are encoded.

Byte-level tokenizers cut text into words first and then each word into tokens. The patterns that cut, of those that
say `words_apart`, begin a new word at every space behind a printable ASCII character, and never look back from there
or look ahead over it. So a text between two such spaces has the same tokens wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from needlework.haystack_fixtures.haystacks.pieces import Counted, Piece, Segment, Spliced
from needlework.haystack_fixtures.tokenizers.tokenizer import Encoded

# Characters: how far from a seam such a space is looked for, and from which length on a text's middle is encoded by
# itself, because what stands beside it changes while it stays.
_REACH = 400
_LONG = 20


def splice_at_words(pieces: Sequence[Piece], encode: Callable[[str], Encoded | Counted]) -> Spliced | None:
    """The tokens of the pieces' concatenation; `None` where no space is near a seam.

    `encode`: that of a `WindowMemo`, or its `counted`, where the tokens themselves may never be asked for.
    """
    segments: list[Segment] = []
    shown: list[tuple[str, int, int, Encoded | None]] = [
        (each, 0, len(each), None) if isinstance(each, str) else (each[0].text, each[1], each[2], each[0])
        for each in pieces
        if each and (isinstance(each, str) or each[1] < each[2])
    ]
    waiting, begin, place = "", 0, 0  # text that is not encoded yet, and where it begins; where the next piece does
    apart, last = True, len(shown) - 1  # whether a word begins with the piece
    for number, (text, start, end, source) in enumerate(shown):
        if apart and waiting:
            segments.append(_encoded(waiting, begin, encode))
            waiting = ""
        begin = begin if waiting else place
        begun, size = apart, end - start
        apart = number < last and shown[number + 1][0][shown[number + 1][1]] == " " and "!" <= text[end - 1] <= "~"
        first = stop = -1
        if source is not None or size > _LONG:
            first = start if begun and _parts(text, start) else next_word(text, start, end)
            stop = end if apart and _parts(text, end) else last_word(text, start, end)
        if not start <= first < stop:
            if size > _REACH:
                return None
            waiting += text[start:end]
        else:
            shift = place - start
            if waiting or first > start:
                segments.append(_encoded(waiting + text[start:first], begin, encode))
            if source is None:
                segments.append(_encoded(text[first:stop], shift + first, encode))
            else:
                low, high = source.starts.searchsorted((first, stop)).tolist()
                segments.append((source, low, high, shift))
            begin, waiting = shift + stop, text[stop:end]
        place += size
    if waiting:
        segments.append(_encoded(waiting, begin, encode))
    return Spliced(tuple(segments))


def _encoded(text: str, begin: int, encode: Callable[[str], Encoded | Counted]) -> Segment:
    found = encode(text)
    return found, 0, found.count, begin


def _parts(text: str, place: int) -> bool:
    """Whether a word of a text begins at a place, or the text begins or ends there."""
    return place in (0, len(text)) or (text[place] == " " and "!" <= text[place - 1] <= "~")


def next_word(text: str, start: int, end: int) -> int:
    """The first place behind the start of a stretch of text at which a word begins; -1 where none is near."""
    stop = min(end, start + _REACH)
    place = text.find(" ", start + 1, stop)
    while place > 0 and not "!" <= text[place - 1] <= "~":
        place = text.find(" ", place + 1, stop)
    return place


def last_word(text: str, start: int, end: int) -> int:
    """The last one before its end; -1 where none is near."""
    stop = max(start + 1, end - _REACH)
    place = text.rfind(" ", stop, end)
    while place > 0 and not "!" <= text[place - 1] <= "~":
        place = text.rfind(" ", stop, place)
    return place
