"""Where an answer names the right value, a known wrong one, or one that looks like the right one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from needlework.scoring.answers.folding import MARK, closed_up, units
from needlework.scoring.answers.numbers.beside_han import find_in_han, goes_on_in_han, is_rest_of_a_number
from needlework.scoring.answers.numbers.dates import find_dates
from needlework.scoring.answers.numbers.numerals import Number, gives, numbers, wanted_number
from needlework.scoring.answers.values import Cover, Span, find_plain, find_same_shape, find_whole

_SEPARATORS = str.maketrans("", "", "-_ /.")
_TOKEN = re.compile(r"[^\W_]+")
_GAP = re.compile(r"[-_ /.]|(?: - )|")
_CYRILLIC = re.compile(r"[а-я]{4,}(?: [а-я]{4,})*")
_LONGEST_CODE = 64
_MIN_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Mention:
    """A value in a text: where, which, and whether it is right, a known wrong one, or looks alike."""

    span: Span
    value: str
    kind: Literal["right", "distractor", "alike"]


def find_mentions(
    text: str, answers: Sequence[str], distractors: Sequence[str], statement: str, *, alike: bool = True
) -> list[Mention]:
    """Find the values in a folded text of one line, in order of place, none within another.

    A quotation of the needle's sentence is one mention of the right value, where it has one only.
    """
    read = numbers(text, statement)
    quotes = find_plain(text, statement)
    right = [Mention(span, value, "right") for value in answers for span in _places(text, value, read)]
    inside = Cover(quotes)
    held = {mention.value for mention in right if inside.holds(mention.span)}
    if len(held) == 1:
        right = [mention for mention in right if not inside.holds(mention.span)]
        right += [Mention(span, value, "right") for span in quotes for value in held]
    wrong = [
        Mention(span, value, "distractor")
        for value in distractors
        if value not in answers
        for span in _places(text, value, read)
        if not inside.holds(span)
    ]
    found = _apart([*wrong, *right])
    if alike:
        known = Cover([*quotes, *(mention.span for mention in found)])
        shaped = {span for value in answers for span in _alike(text, value, read)}
        others = [Mention(span, text[span.start : span.end], "alike") for span in shaped if not known.holds(span)]
        found = _apart([*found, *others]) if others else found
    return found


def sketch_of(text: str, mentions: Sequence[Mention]) -> str:
    """The text with one `MARK` in place of every mention, and no space between it and Han beside it."""
    parts, at = [], 0
    for mention in mentions:
        parts += [text[at : mention.span.start], MARK]
        at = mention.span.end
    sketch = "".join([*parts, text[at:]])
    return sketch if text.isascii() else closed_up(sketch)


def _apart(mentions: Iterable[Mention]) -> list[Mention]:
    """The longest of the mentions that overlap, in order of place."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda each: (each.span.start, -each.span.end)):
        if not kept or mention.span.start >= kept[-1].span.end:
            kept.append(mention)
        elif mention.span.end - mention.span.start > kept[-1].span.end - kept[-1].span.start:
            kept[-1] = mention
    return kept


def _places(text: str, value: str, read: Sequence[Number]) -> list[Span]:
    wanted = wanted_number(value)
    if wanted is not None:
        places = {number.span for number in read if gives(text, number, wanted)}
        word = _word_of(wanted.whole) if not wanted.fraction and len(wanted.whole) <= 2 else ""
        return sorted(places | (set(find_whole(text, word)) if word else set()))
    found = find_whole(text, value)
    if dates := find_dates(text, value):
        return dates
    if any(char.isdigit() for char in value):
        spans = {*found, *_squeezed(text, value), *find_in_han(text, value)}
        return sorted(span for span in spans if not _goes_on(text, *span))
    if _CYRILLIC.fullmatch(value):
        return sorted({*found, *(Span(*each.span()) for each in _declined(value).finditer(text))})
    if not value.isascii() or len(value) > 200:
        return sorted(
            {*(span for span in found if not is_rest_of_a_number(text, span.start)), *find_in_han(text, value)}
        )
    if "-" in value or (" " in value and "-" in text):
        found = sorted({*found, *_hyphened(text, value)})
    words = value.split(" ")
    if not found and len(words) == 2:
        found = find_whole(text, f"{words[1]}, {words[0]}")
    number = _number_of(value)
    return found if number is None else sorted({*found, *(each.span for each in read if each.whole == number)})


@lru_cache(256)
def _declined(value: str) -> re.Pattern[str]:
    """A Russian name in every case: its words with another ending of up to three letters."""
    stems = (re.escape(word[: max(4, len(word) - 2)]) + r"[^\W\d_]{0,3}" for word in value.split(" "))
    return re.compile(rf"(?<!\w){' '.join(stems)}(?![\w-])")


def _hyphened(text: str, value: str) -> list[Span]:
    spaced, plain = text.replace("-", " "), value.replace("-", " ")
    return [
        span
        for span in find_plain(spaced, plain)
        if not (text[span.start - 1 : span.start].isalnum() or text[span.end : span.end + 1].isalnum())
        and text[max(0, span.start - 1) : span.start] != "-"
        and text[span.end : span.end + 1] != "-"
    ]


def _squeezed(text: str, value: str) -> list[Span]:
    """Where the letters and digits of a code stand with other signs, or none, between them."""
    code = value.translate(_SEPARATORS)
    if not (code.isascii() and code.isalnum() and len(code) <= _LONGEST_CODE):
        return []
    if code not in text.translate(_SEPARATORS):
        return []
    tokens = list(_TOKEN.finditer(text))
    found: list[Span] = []
    for first, token in enumerate(tokens):
        joined, last = token[0], first
        if not code.startswith(joined):
            continue
        while len(joined) < len(code) and last + 1 < len(tokens):
            if not _GAP.fullmatch(text, tokens[last].end(), tokens[last + 1].start()):
                break
            last += 1
            joined += tokens[last][0]
            if not code.startswith(joined):
                break
        if joined == code:
            found.append(Span(token.start(), tokens[last].end()))
    return found


def _goes_on(text: str, start: int, end: int) -> bool:
    """A hyphen or underscore joins it to another word, or a point to further digits: `v2.5` is not `v2`."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if not text.isascii() and goes_on_in_han(text, start, end):
        return True
    signs = ("-", "_", "/")
    decimals = text[end - 1].isdigit() and after[:1] == "." and after[1:].isdigit()
    return decimals or (before[-1:] in signs and before[:1].isalnum()) or (after[:1] in signs and after[1:].isalnum())


def _alike(text: str, value: str, read: Sequence[Number]) -> list[Span]:
    wanted = wanted_number(value)
    if wanted is None:
        return find_same_shape(text, value)
    size, cents = len(wanted.whole), bool(wanted.fraction)
    if size < _MIN_DIGITS and not cents:
        return []
    return [each.span for each in read if len(each.whole) == size and bool(each.fraction) is cents]


@lru_cache(256)
def _word_of(digits: str) -> str:
    """The English word of 2 to 20 and of the tens: `one` is a pronoun."""
    names, number = units(), int(digits)
    if str(number) != digits or number < 2:
        return ""
    if number <= 20:
        return str(names["english"][number])
    tens, ones = divmod(number, 10)
    if tens < 3:
        return f"twenty-{names['english'][ones]}"
    return str(names["tens"][tens - 3]) + (f"-{names['english'][ones]}" if ones else "")


@lru_cache(256)
def _number_of(word: str) -> str | None:
    names = units()
    if word in names["english"][2:]:
        return str(names["english"].index(word))
    return str(10 * (names["tens"].index(word) + 3)) if word in names["tens"] else None
