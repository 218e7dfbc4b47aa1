"""Splices needles into encoded text without encoding all of it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.haystacks.pieces import Counted, Piece, Range, Segment, Spliced, WindowMemo
from needlework.models.tokenizers.tokenizer import Encoded

# A token depends on its neighbourhood only. So the tokens of an already encoded source are right again wherever the
# text around them is the same, and only a window around every seam has to be encoded. A window is trusted from where
# its tokens and the source's run in step; while they do not, it grows, in the end to the whole text.
_REACH = 32
_IN_STEP = 8
# A longer text is encoded once by itself and is a source then, so that a search does not encode it at every step.
_LONG = 1000
_SEAMS_KEPT = 4000


class _TextPart(NamedTuple):
    """Places start..end of the whole text, which are characters start-shift..end-shift of a backing text."""

    start: int
    end: int
    shift: int
    text: str
    source: Encoded | None


class _Core(NamedTuple):
    """Tokens low..high of a source that no window covers. `number`: which of the source parts it belongs to."""

    number: int
    start: int
    end: int
    shift: int
    source: Encoded
    low: int
    high: int

    def place(self, token: int) -> int:
        """Where a token of the source begins in the whole text."""
        starts = self.source.starts
        return (int(starts[token]) if token < len(starts) else len(self.source.text)) + self.shift


def splice(pieces: Sequence[Piece], memo: WindowMemo, seams: Seams | None = None) -> Spliced:
    """The canonical tokens of the pieces' concatenation: those of encoding it at once.

    What `seams` already holds is not looked at again; it keeps its sources alive.
    """
    found = splice_at_words(pieces, memo.encode) if memo.words_apart else None
    found = found or _seam_by_seam(pieces, memo, {} if seams is None else seams)
    if found is not None:
        return found
    parts = _lay_out(pieces, memo)
    length = parts[-1].end if parts else 0
    sources = [part for part in parts if part.source is not None]
    reach = [_REACH] * (len(sources) + 1)
    # Where the whole text begins or ends as its source does, there is no seam.
    if sources and sources[0].start == sources[0].shift == 0:
        reach[0] = 0
    if sources and sources[-1].end == length == sources[-1].shift + len(sources[-1].text):
        reach[-1] = 0
    while True:
        cores = _cores(sources, reach)
        joined = _join(cores, parts, length, memo)
        if isinstance(joined, Spliced):
            return joined
        # The window between two cores did not come into step: everything between them has to see more.
        first, last = joined
        reach[first:last] = [2 * each for each in reach[first:last]]


def _lay_out(pieces: Sequence[Piece], memo: WindowMemo) -> list[_TextPart]:
    parts: list[_TextPart] = []
    place = 0
    for piece in pieces:
        if isinstance(piece, str) and len(piece) > _LONG:
            piece = Range(memo.encode(piece), 0, len(piece))
        if isinstance(piece, str):
            part = _TextPart(place, place + len(piece), place, piece, None)
        else:
            part = _TextPart(
                place, place + piece.end - piece.start, place - piece.start, piece.source.text, piece.source
            )
        if part.end > part.start:
            parts.append(part)
            place = part.end
    return parts


def _cores(sources: Sequence[_TextPart], reach: Sequence[int]) -> list[_Core]:
    """What is left of each source when `reach` tokens beside every seam are taken off; short ones vanish."""
    cores = []
    for number, part in enumerate(sources):
        assert part.source is not None
        starts = part.source.starts
        low = _between_chars(starts, int(starts.searchsorted(part.start - part.shift)) + reach[number])
        high = _between_chars(starts, int(starts.searchsorted(part.end - part.shift)) - reach[number + 1])
        if low < high:
            cores.append(_Core(number, part.start, part.end, part.shift, part.source, low, high))
    return cores


def _between_chars(starts: NDArray[np.int64], token: int) -> int:
    """A window begins and ends between characters: at the first of the tokens that share one."""
    while 0 < token < len(starts) and starts[token - 1] == starts[token]:
        token -= 1
    return token


class _Seam(NamedTuple):
    """A window and where it is in step: its tokens low..high stand between `joined` (left) and `begin` (right)."""

    window: Encoded
    low: int
    high: int
    joined: int
    begin: int


class _Between(NamedTuple):
    """A seam between the ends of two ranges. `after`, `before`: tokens of the left and right source beside the window.

    `back`: characters from where the window begins to the end of the left range.
    """

    seam: _Seam
    after: int
    before: int
    back: int


_UNSEEN = _Between(_Seam(Encoded("", np.empty(0, np.int32), np.empty(0, np.int64)), 0, 0, 0, 0), 0, 0, 0)
Seams = dict[tuple[object, ...], _Between | None]
"""Seams by all that they depend on, for a caller who splices the same sources again and again."""


def _seam_by_seam(pieces: Sequence[Piece], memo: WindowMemo, seams: Seams) -> Spliced | None:
    """What `splice` finds when every seam is in step at once and no range is too short for its two seams."""
    segments: list[Segment] = []
    left: Range | None = None
    shift = begin = low = place = 0
    between: list[str] = []
    for each in (*pieces, None):
        if isinstance(each, str) and len(each) <= _LONG:
            between.append(each)
            continue
        piece = Range(memo.encode(each), 0, len(each)) if isinstance(each, str) else each
        if piece is not None and _is_short(piece):  # the seams on both sides are one
            between.append(piece.source.text[piece.start : piece.end])
            continue
        text = "".join(between)
        key = (text, left and (left.source, left.end), piece and (piece.source, piece.start))
        found = seams.get(key, _UNSEEN)
        if found is _UNSEEN:
            found = _seam_of(text, left, piece, memo)
            if len(seams) > _SEAMS_KEPT:
                seams.clear()
            if len(text) <= _LONG:
                seams[key] = found
        if found is None or (left and low >= found.after):
            return None
        if left:
            segments.append((left.source, begin, found.seam.joined, shift))
        segments.append((found.seam.window, found.seam.low, found.seam.high, place - found.back))
        begin, low = found.seam.begin, found.before
        if piece is not None:
            shift = place + len(text) - piece.start
            place = shift + piece.end
        left = piece
        between = []
    return Spliced(tuple(segments))


def _is_short(piece: Range) -> bool:
    """Whether a range has not many more tokens than its two seams take."""
    if piece.end - piece.start > _LONG:  # told without a search; rarely wrong, and then it is found out later
        return False
    low, high = piece.source.starts.searchsorted((piece.start, piece.end)).tolist()
    return bool(high - low <= 2 * (_REACH + _IN_STEP))


def _seam_of(text: str, left: Range | None, right: Range | None, memo: WindowMemo) -> _Between | None:
    """The seam between the ends of two ranges with a text between them; `None` where a wider window is needed."""
    before = after = None
    start = end = 0
    if left:
        starts = left.source.starts
        whole = not right and not text and left.end == len(left.source.text)
        token = _between_chars(starts, int(starts.searchsorted(left.end)) - (0 if whole else _REACH))
        if token < 0:
            return None
        start = int(starts[token]) if token < len(starts) else len(left.source.text)
        before = _Core(0, left.start, left.end, 0, left.source, 0, token)
    shift = left.end + len(text) - right.start if left and right else len(text) - right.start if right else 0
    if right:
        starts = right.source.starts
        whole = not left and not text and right.start == 0
        token = _between_chars(starts, int(starts.searchsorted(right.start)) + (0 if whole else _REACH))
        if token > len(starts):
            return None
        end = int(starts[token]) if token < len(starts) else len(right.source.text)
        after = _Core(0, right.start + shift, right.end + shift, shift, right.source, token, len(starts))
    head = left.source.text[start : left.end] if left else ""
    tail = right.source.text[right.start : end] if right else ""
    seam = _seam(head + text + tail, start, before, after, memo)
    if seam is None:
        return None
    return _Between(seam, before.high if before else 0, after.low if after else 0, len(head))


def _join(
    cores: Sequence[_Core], parts: Sequence[_TextPart], length: int, memo: WindowMemo
) -> Spliced | tuple[int, int]:
    """Cores and windows in turn; or the seams first..last of the window that is out of step."""
    segments: list[Segment] = []
    left: _Core | None = None
    begin = 0  # the first token of the left core's source that is still to be taken
    for right in (*cores, None):
        start = left.place(left.high) if left else 0
        end = right.place(right.low) if right else length
        seam = _seam(_slice(parts, start, end), start, left, right, memo)
        if seam is None:
            return left.number + 1 if left else 0, right.number + 1 if right else len(parts) + 1
        if left:
            segments.append((left.source, begin, seam.joined, left.shift))
        segments.append((seam.window, seam.low, seam.high, start))
        begin = seam.begin
        left = right
    return Spliced(tuple(segments))


def _seam(text: str, start: int, left: _Core | None, right: _Core | None, memo: WindowMemo) -> _Seam | None:
    """The window between two cores; `None` where it is out of step with one of them."""
    window = memo.encode(text)
    before = after = (0, 0)
    if left:
        # With nothing to encode, the source ends with the text.
        met = _in_step(window, start, left, before=left.end) if text else (0, left.high)
        if met is None:
            return None
        before = met
    if right:
        met = _in_step(window, start, right, after=right.start) if text else (0, right.low)
        if met is None:
            return None
        after = met
    return _Seam(window, before[0], after[0] if right else len(window.ids), before[1], after[1])


def _slice(parts: Sequence[_TextPart], start: int, end: int) -> str:
    return "".join(
        part.text[max(start, part.start) - part.shift : min(end, part.end) - part.shift]
        for part in parts
        if part.start < end and start < part.end
    )


def _in_step(
    window: Encoded, place: int, core: _Core, *, before: int | None = None, after: int | None = None
) -> tuple[int, int] | None:
    """A token of the window and the token of the core's source from which some have the same starts and ids.

    Looks at tokens that begin before or after a place, and takes the last run: that is furthest from where the window
    was cut off, or from what the seam changed. `None` when no run is long enough.
    """
    starts, there_starts = window.starts, core.source.starts
    delta = place - core.shift
    first = 0 if after is None else int(starts.searchsorted(after - place))
    last = len(starts) if before is None else int(starts.searchsorted(before - place))
    if last - first >= _IN_STEP:
        # Nearly always the last ones are in step.
        number = last - _IN_STEP
        # Tokens that share a character have one start: count from the first of them.
        begin = int(there_starts.searchsorted(starts[number] + delta)) + number
        begin -= int(starts.searchsorted(starts[number]))
        end = begin + _IN_STEP
        if (
            core.source.ids[begin:end].tolist() == window.ids[number:last].tolist()
            and there_starts[begin:end].tolist() == (starts[number:last] + delta).tolist()
        ):
            return number, begin
    seen = starts[first:last]
    index = there_starts.searchsorted(seen + delta)
    index += np.arange(first, last) - starts.searchsorted(seen)
    there = np.minimum(index, len(core.source.ids) - 1)
    same = (there == index) & (core.source.ids[there] == window.ids[first:last])
    same &= there_starts[there] == seen + delta
    places, run = there.tolist(), 0
    for number in range(len(places) - 1, -1, -1):
        follows = run and places[number] + 1 == places[number + 1]
        run = (run + 1 if follows else 1) if same[number] else 0
        if run == _IN_STEP:
            return first + number, places[number]
    return None


# Byte-level tokenizers cut text into words first and then each word into tokens. The patterns that cut, of those that
# say `words_apart`, begin a new word at every space behind a printable ASCII character, and never look back from there
# or look ahead over it. So a text between two such spaces has the same tokens wherever it stands.

# Characters: how far from a seam such a space is looked for, and from which length on a text's middle is encoded by
# itself, because what stands beside it changes while it stays.
_WORD_SPLICE_REACH = 400
_WORD_SPLICE_LONG = 20


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
        if source is not None or size > _WORD_SPLICE_LONG:
            first = start if begun and _parts(text, start) else next_word(text, start, end)
            stop = end if apart and _parts(text, end) else last_word(text, start, end)
        if not start <= first < stop:
            if size > _WORD_SPLICE_REACH:
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
    stop = min(end, start + _WORD_SPLICE_REACH)
    place = text.find(" ", start + 1, stop)
    while place > 0 and not "!" <= text[place - 1] <= "~":
        place = text.find(" ", place + 1, stop)
    return place


def last_word(text: str, start: int, end: int) -> int:
    """The last one before its end; -1 where none is near."""
    stop = max(start + 1, end - _WORD_SPLICE_REACH)
    place = text.rfind(" ", stop, end)
    while place > 0 and not "!" <= text[place - 1] <= "~":
        place = text.rfind(" ", stop, place)
    return place
