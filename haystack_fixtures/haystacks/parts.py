"""The tokens of a prompt in parts, where a tokenizer's words stand apart; most of them are had without encoding.

Such a prompt is parted where words begin: up to behind the last needle, which is the same for all cuts; then so much of
the source; the end of the haystack with the word behind it, which is the same for all needles; and the rest.
"""

from __future__ import annotations

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import Frame, Part, Places, head_of, rest_of
from needlework.haystack_fixtures.haystacks.pieces import Counted, Piece, Range, Segment, Spliced, text_of
from needlework.haystack_fixtures.haystacks.word_splice import last_word, next_word, splice_at_words

_SHORT = 1000  # characters of a haystack that is counted word by word


def count_of(frame: Frame, cut: Cut, places: Places) -> int | None:
    """The count of a cut's draft; `None` where that has to be made."""
    if frame.of_context is not None or not frame.memo.words_apart:
        return None
    if cut.chars <= _SHORT:
        return _count_by_words(frame, cut, places) + frame.bos
    parts = _parts(frame, cut, places)
    if parts is not None:
        start, end, rest = parts
        return start.tokens + end.tokens + rest.count + frame.bos
    spliced = spliced_in_parts(frame, cut, places)
    return None if spliced is None else spliced.count + frame.bos


def _count_by_words(frame: Frame, cut: Cut, places: Places) -> int:
    """The tokens of a short prompt: those of its words, of which other prompts have most too."""
    counted, head = frame.memo.counted, head_of(frame, cut, places)
    at = max(0, last_word(frame.before, 0, len(frame.before)))
    near, rest = _ending(frame)
    _, *behind = head.pieces
    text = text_of([frame.before[at:], *behind, *rest_of(frame, cut, head)[:-1], near])
    return counted(frame.before[:at]).count + counted(text).count + rest.count


def _ending(frame: Frame) -> tuple[str, Counted]:
    """What stands behind the context: up to its first word, and the rest; the same for all cuts."""
    if not frame.ending:
        at = next_word(frame.after, 0, len(frame.after))
        at = at if at > 0 else len(frame.after)
        frame.ending.append((frame.after[:at], frame.memo.counted(frame.after[at:])))
    return frame.ending[0]


def spliced_in_parts(frame: Frame, cut: Cut, places: Places) -> Spliced | None:
    """The tokens of a draft; `None` where words do not stand apart, or none begins near a seam."""
    if not frame.memo.words_apart:
        return None
    head = head_of(frame, cut, places)
    parts = _parts(frame, cut, places)
    if parts is None:
        return splice_at_words([*head.pieces, *rest_of(frame, cut, head)], frame.memo.counted)
    start, end, rest = parts
    encoded, shift = frame.source.encoded, head.end - head.char
    low, high = encoded.starts.searchsorted((start.place, end.place)).tolist()
    tail: list[Segment] = [(text, first, last, at + end.place + shift) for text, first, last, at in end.segments]
    close = head.end + cut.chars - head.char + len(frame.after) - len(rest.text)
    return Spliced((*start.segments, (encoded, low, high, shift), *tail, (rest, 0, rest.count, close)))


def _parts(frame: Frame, cut: Cut, places: Places) -> tuple[Part, Part, Counted] | None:
    """The parts beside the source's own tokens; `None` where the haystack does not part so."""
    if not all(place < cut.end for place in places):
        return None
    if places not in frame.starts:
        frame.starts[places] = _start(frame, cut, places)
    start = frame.starts[places]
    near, rest = _ending(frame)
    end = frame.source.remember(("end", cut, near, frame.memo), lambda: _end(frame, cut, near))
    if start is None or end is None or start.place > end.place:
        return None
    return start, end, rest


def _start(frame: Frame, cut: Cut, places: Places) -> Part | None:
    """Up to the first word of the source behind the last needle, less the source's tokens before that."""
    source = frame.source
    head = head_of(frame, cut, places)
    place = next_word(source.text, head.char, cut.end)
    pieces = [*head.pieces, Range(source.encoded, head.char, place)]
    spliced = splice_at_words(pieces, frame.memo.counted) if place > 0 else None
    if spliced is None:
        return None
    return Part(place, spliced.segments, spliced.count - int(source.encoded.starts.searchsorted(place)))


def _end(frame: Frame, cut: Cut, near: str) -> Part | None:
    """From the last word of the source to the first one behind the haystack, and the source's tokens before that."""
    source = frame.source
    place = last_word(source.text, 0, cut.end)
    pieces: list[Piece] = [Range(source.encoded, place, cut.end), Range(source.encoded, *cut.tail), cut.closer, near]
    spliced = splice_at_words(pieces, frame.memo.counted) if place > 0 else None
    if spliced is None:
        return None
    return Part(place, spliced.segments, spliced.count + int(source.encoded.starts.searchsorted(place)))
