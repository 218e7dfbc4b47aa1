"""Checks that needles and answers occur in a prompt once."""

from collections.abc import Sequence

import regex

from needlework.core.errors import InputError
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import Draft
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.haystack_fixtures.haystacks.splice import text_of

_WORDS = regex.compile(
    r"[\p{L}\p{M}\p{N}--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]", regex.V1
)


def check_unique(
    source: HaystackSource, draft: Draft, needles: Sequence[tuple[str, str]], terms: Sequence[str]
) -> None:
    """Raise `InputError` unless every needle occurs once in the prompt and no term in the haystack."""
    text = text_of(draft.pieces)
    for name, needle in needles:
        if _holds(source, draft.cut, needle.strip()):
            raise InputError("needle", name, "the haystack has this text already: use another corpus or needle")
        if text.count(needle) != 1:
            raise InputError("needle", name, "its text stands in the prompt more than once: give every needle its own")
    for term in terms:
        if _holds_word(source, draft.cut, term):
            remedy = "the haystack has this key or answer already: use another corpus or needle"
            raise InputError("needle", term, remedy)


def stands_elsewhere(answer: str, draft: Draft) -> bool:
    """Whether an answer stands by itself in a prompt's context outside its needles."""
    begin, end = draft.context
    spans, rest, end_of_piece = {*draft.spans}, [], 0
    for piece in draft.pieces:
        start = end_of_piece
        end_of_piece += len(piece) if isinstance(piece, str) else piece.end - piece.start
        if begin <= start and end_of_piece <= end and (start, end_of_piece) not in spans:
            rest.append(piece)
    return occurs(answer, text_of(rest))


def occurs(term: str, text: str) -> bool:
    """Whether a term stands in text by itself, not inside a longer word or number."""
    term = term.strip()
    start = text.find(term) if term else -1
    while start >= 0:
        end = start + len(term)
        if not _inside_word(text, start) and not _inside_word(text, end):
            return True
        start = text.find(term, start + 1)
    return False


def _inside_word(text: str, offset: int) -> bool:
    """Whether a word or number goes on over an offset."""
    if not 0 < offset < len(text):
        return False
    left, right = text[offset - 1], text[offset]
    return _WORDS.match(left) is not None and _WORDS.match(right) is not None


def _holds(source: HaystackSource, cut: Cut, text: str) -> bool:
    """Whether a haystack has a text."""
    return source.text.find(text, 0, cut.end) >= 0 or text in _end(source, cut, len(text))


def _holds_word(source: HaystackSource, cut: Cut, word: str) -> bool:
    """Whether a word stands in a haystack by itself, in capitals or not (see `occurs`)."""
    lowered = word.lower().strip()
    text = source.remember("lowered", source.text.lower)
    # A few capitals are two characters in lower case (`İ`) and move what follows.
    stop = cut.end + len(text) - len(source.text)
    if text.find(lowered, 0, stop) < 0 and lowered not in _end(source, cut, len(lowered)).lower():
        return False
    return occurs(lowered, cut.text(source).lower())


def _end(source: HaystackSource, cut: Cut, chars: int) -> str:
    """The haystack from some characters before where it leaves the source."""
    return source.text[max(0, cut.end - chars) : cut.end] + source.text[cut.tail[0] : cut.tail[1]] + cut.closer
