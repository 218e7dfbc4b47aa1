"""Where a document gives an answer: the places that say it in the same words, else the passage that is nearest to it.

Places are (start, end) in characters of the document's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import regex

from needlework.results.web.editing.questions.word_places import word_places
from needlework.scoring.answers.content_words import content_words

Place = tuple[int, int]
MOST_PLACES = 500
_EDGE = " \t\r\n.,;:!?。，；：！？、…\"'“”‘’"
_ALIKE = (("'‘’ʼ′", "['‘’ʼ′]"), ('"“”„«»', '["“”„«»]'), ("-‐‑–—−", "[-‐‑–—−]"))
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
_IS_UNSPACED = regex.compile(f"[{_UNSPACED}]")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]|\n")
_WIDEST = 12  # sentences of a passage
_LONGEST = 1500  # characters of a passage
_WORTH = 0.5  # words


@dataclass(frozen=True, slots=True)
class Found:
    """Where the answer is. `literal`: `places` say it; else they are the one passage that has `recall` (0..1) of its
    content words, or there is none. `more`: there are more places than are listed.
    """

    places: tuple[Place, ...]
    literal: bool
    recall: float
    more: bool = False


@lru_cache(64)
def find_answer(text: str, answers: tuple[str, ...]) -> Found:
    """Look for answers in a document's text."""
    literal = literal_places(text, answers)
    if literal:
        return Found(literal[:MOST_PLACES], True, 1.0, len(literal) > MOST_PLACES)
    best: tuple[float, int, Place] | None = None
    for answer in answers:
        passage = nearest_passage(text, answer)
        if passage and (best is None or passage[0] > best[0]):
            best = (passage[0], len(answer), passage[1])
    return Found((best[2],), False, best[0]) if best else Found((), False, 0.0)


def literal_places(text: str, answers: Sequence[str]) -> tuple[Place, ...]:
    """At most `MOST_PLACES` + 1 places that say one of the answers: whole words, whatever case, quotes and spaces."""
    wanted = answer_pattern(tuple(answers))
    if wanted is None:
        return ()
    return tuple(match.span() for match in islice(wanted.finditer(text), MOST_PLACES + 1))


@lru_cache(64)
def answer_pattern(answers: tuple[str, ...]) -> regex.Pattern[str] | None:
    """What finds one of the answers, the longest first; `None` where all are empty."""
    parts = [part for answer in sorted(answers, key=len, reverse=True) if (part := _part(answer.strip(_EDGE)))]
    return regex.compile("|".join(parts), regex.IGNORECASE) if parts else None


def nearest_passage(text: str, answer: str) -> tuple[float, Place] | None:
    """The run of sentences that has the most of the answer's content words, and their share.

    A sentence more must bring more than half a word, so that a passage does not grow for a chance word far away.
    """
    wanted = content_words(answer)
    sentences: list[tuple[int, int, Set[str]]] = []
    hits = word_places(wanted, text)
    hit = next(hits, None)
    for start, end in _sentences(text):
        words: Set[str] = frozenset()
        while hit is not None and hit[0] < end:
            words = words | hit[1]
            hit = next(hits, None)
        if words or not text[start:end].isspace():
            sentences.append((start, end, words))
    best: tuple[float, int, Place, int] | None = None  # worth, -length, place, words
    for first, (start, _, found) in enumerate(sentences):
        if not found:
            continue
        held = found
        for more, (_, end, words) in enumerate(sentences[first : first + _WIDEST]):
            if more and end - start > _LONGEST:
                break
            held = held | words
            worth = len(held) - more * _WORTH
            if best is None or (worth, start - end) > best[:2]:
                best = (worth, start - end, (start, end), len(held))
    if best is None:
        return None
    start, end = best[2]
    passage = text[start:end]
    return best[3] / len(wanted), (end - len(passage.lstrip()), start + len(passage.rstrip()))


def utf16_places(text: str, places: Sequence[Place]) -> list[Place]:
    """Places in UTF-16 units, as a browser counts them."""
    if text.isascii() or max(text) <= "\uffff":
        return list(places)
    found: list[Place] = []
    at = units = 0
    for start, end in places:  # in order, none within another
        units += _units(text[at:start])
        found.append((units, units + _units(text[start:end])))
        at, units = end, found[-1][1]
    return found


def _sentences(text: str) -> Iterator[Place]:
    """All of the text: a sentence ends with its mark, with its line, or where it is too long."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        yield from _cut(start, match.end())
        start = match.end()
    yield from _cut(start, len(text))


def _cut(start: int, end: int) -> Iterator[Place]:
    for at in range(start, end, _LONGEST):
        yield at, min(end, at + _LONGEST)


def _part(answer: str) -> str:
    pieces: list[str] = []
    before = ""
    for char in answer:
        if char.isspace():
            if not before.isspace():
                pieces.append(r"\s+")
        else:
            if char.isdigit() and before.isdigit():
                pieces.append(r"[,'_\u2009\u202f]?")  # 1,234 is 1234
            elif _IS_UNSPACED.match(char) and before and _IS_UNSPACED.match(before):
                pieces.append(r"\s*")
            pieces.append(next((alike for chars, alike in _ALIKE if char in chars), regex.escape(char)))
        before = char
    if not pieces:
        return ""
    head = rf"(?<![^\W{_UNSPACED}])" if _is_word(answer[0]) else ""
    tail = rf"(?![^\W{_UNSPACED}])" if _is_word(answer[-1]) else ""
    return f"{head}{''.join(pieces)}{tail}"


def _is_word(char: str) -> bool:
    return (char.isalnum() or char == "_") and not _IS_UNSPACED.match(char)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
