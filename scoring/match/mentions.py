"""Where an answer mentions values, and which of them compete."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from needlework.scoring.match.claims import Standing, standings, strange_values, taken_back
from needlework.scoring.match.normalize import (
    MARK,
    Cover,
    Span,
    closed_up,
    find_plain,
    find_same_shape,
    find_whole,
    units,
)
from needlework.scoring.match.numbers import (
    HAN_NUMERALS,
    Number,
    find_dates,
    find_in_han,
    gives,
    goes_on_in_han,
    is_rest_of_a_number,
    numbers,
    wanted_number,
)
from needlework.scoring.match.owners import Asked, Owner, owner, without_key
from needlework.scoring.match.polarity import compiled

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


Said = Standing | Literal["withdrawn", "other", "unread"]
"""`unread`: there are words beside the value, and it cannot be told what they say of it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A value of the answer: what is said of it, and whose it is."""

    mention: Mention
    said: Said
    owner: Owner

    @property
    def start(self) -> int:
        """Where it stands in the answer."""
        return self.mention.span.start


def read_values(
    lines: str,
    mentions: Sequence[Mention],
    asked: Asked,
    *,
    parts: Sequence[Sequence[str]],
    quote: int,
    familiar: frozenset[str],
) -> list[Reading]:
    """Read every mention in a folded text with its line breaks.

    `parts`: the spellings of each value that is wanted; `quote`: the length of the needle's sentence, which is the
    asked key's wherever it is quoted; `familiar`: the words of the question and the needle.
    """
    sketch = sketch_of(lines, mentions)
    part_of = {value: f"part {number}" for number, part in enumerate(parts) for value in part}
    known = list(dict.fromkeys(part_of.get(mention.value, mention.value) for mention in mentions))
    values = tuple(known.index(part_of.get(mention.value, mention.value)) for mention in mentions)
    told = without_key(sketch, asked)
    back = taken_back(told, values)
    found: list[Reading] = []
    place = -1
    for rank, (mention, standing) in enumerate(zip(mentions, standings(told), strict=True)):
        place = sketch.find(MARK, place + 1)
        whose: Owner = "asked" if is_quote(mention, quote) else owner(sketch, place, asked)
        said: Said = "withdrawn" if rank in back else standing
        if said == "given" and whose in ("other", "unread"):
            said = "other" if whose == "other" else "unread"
        found.append(Reading(mention, said, whose))
    contrast = any(each.said not in ("given", "unread", "supposed") for each in found)
    strange = strange_values(sketch, [mention.value for mention in mentions], familiar, contrast=contrast)
    return [
        replace(each, said="unread")
        if rank in strange and each.said == "given" and not is_quote(each.mention, quote)
        else each
        for rank, each in enumerate(found)
    ]


def is_quote(mention: Mention, quote: int) -> bool:
    """Whether a mention is the needle's whole sentence, of `quote` letters."""
    return quote > 0 and mention.span.end - mention.span.start == quote


Preferred = Literal["right", "wrong", "unread"]

_SAID = re.compile(
    r"(?:(?:(?<!\w)(?:is|are|be|reads|equals|ist|lautet|est|es)|'s)(?:\s(?:aber|actually|indeed|really))?"
    r"|[:=]|->|は|是|为|это|- )\s*(?:the\s)?[\"'(*$\\{\s]*$"
)
_QUERY = re.compile(r"[\"')*\s]*\?")
_CODE = r"(?<![^\W_\u2e80-\U0003ffff])(?:[a-z]{1,3}-?)?\d[\w-]*"
_BESIDE = 60
_LIST = re.compile(r"[\"')*\s]*(?:[,;/|&+]|-)?\s*(?:(?:and|und|et|y|и|e)(?!\w)|和|与|、|と)?[\"'(*\s]*-?\s*")


def preferred(lines: str, read: Sequence[Reading]) -> Preferred:
    """Say which an answer gives, the right value or another one; it gives both."""
    sketch = sketch_of(lines, [each.mention for each in read])
    places = [place for place, char in enumerate(sketch) if char == MARK]
    given = [rank for rank, each in enumerate(read) if each.said == "given"]
    right = [rank for rank in given if read[rank].mention.kind == "right"]
    wrong = [rank for rank in given if read[rank].mention.kind != "right"]
    if _alternatives(sketch, places, right, wrong):
        return "wrong"
    owned = [any(read[rank].owner == "asked" for rank in ranks) for ranks in (right, wrong)]
    new = [any(_is_new(sketch, places[rank]) for rank in ranks) for ranks in (right, wrong)]
    for mine, theirs in (owned, new):
        if mine != theirs:
            return "right" if mine else "wrong"
    if _listed(sketch, places, right, wrong):
        return "wrong"
    said = [any(_is_said(sketch, places[rank]) for rank in ranks) for ranks in (right, wrong)]
    if said[0] != said[1]:
        return "right" if said[0] else "wrong"
    return "wrong" if said[0] else "unread"


def is_one_of_two(sketch: str, rank: int) -> bool:
    """Whether an `or` and another number or code stand beside a right value: `12 or 13`, `b3 or a7`.

    `sketch`: the answer with a `MARK` for each right value; `rank`: which of them, from 0.
    """
    place = -1
    for _ in range(rank + 1):
        place = sketch.index(MARK, place + 1)
    before = sketch[max(0, place - _BESIDE) : place]
    return _or_next().match(sketch, place + 1) is not None or _next_or().search(before) is not None


@cache
def _code() -> str:
    """A number, a code, or a Chinese numeral with its measure word; `一个` is an article."""
    numeral = rf"(?<![{HAN_NUMERALS}])(?!一[^{HAN_NUMERALS}])[{HAN_NUMERALS}]{{1,8}}[{units()['measures']}]"
    return f"(?:{_CODE}|{numeral})"


@cache
def _or_next() -> re.Pattern[str]:
    return compiled(rf"[\"')*\s]*,?\s*<either>[\s\"'(*]*{_code()}", "either")


@cache
def _next_or() -> re.Pattern[str]:
    return compiled(rf"{_code()}[\"')*\s]*,?\s*<either>[\s\"'(*]*$", "either")


def _is_alternative(sketch: str, start: int, end: int) -> bool:
    """Whether what stands between two values makes them alternatives (`A or B`)."""
    return _either().fullmatch(sketch, start, end) is not None


@cache
def _either() -> re.Pattern[str]:
    return compiled(r"[\"')(*\s]*,?\s*(?:<either>|/)(?:\s|[\"'(*]|the|was it|is it)*", "either")


def _alternatives(sketch: str, places: Sequence[int], right: Iterable[int], wrong: Iterable[int]) -> bool:
    """Whether a right value and a wrong one stand in a list with an `or` in it."""
    mine, others = set(right), set(wrong)
    group: set[int] = set()
    either = False
    for rank in range(len(places)):
        group.add(rank)
        end = places[rank + 1] if rank + 1 < len(places) else len(sketch)
        or_next = rank + 1 < len(places) and _is_alternative(sketch, places[rank] + 1, end)
        either = either or or_next
        if or_next or (rank + 1 < len(places) and _LIST.fullmatch(sketch, places[rank] + 1, end)):
            continue
        if either and group & mine and group & others:
            return True
        group, either = set(), False
    return False


def _is_new(sketch: str, place: int) -> bool:
    """Whether it is said that a value holds now."""
    before = sketch[max(0, place - 60) : place]
    return _now().search(before[max(before.rfind(sign) for sign in (MARK, ".", ";", "(")) + 1 :]) is not None


@cache
def _now() -> re.Pattern[str]:
    return compiled(r"<new_before>(?:\W+(?!M)[^\W\d_]+){0,3}\W*$", "new_before")


def _listed(sketch: str, places: Sequence[int], right: Iterable[int], wrong: Iterable[int]) -> bool:
    """Whether a right value stands in one list with a wrong one, and nothing is said of either."""
    others = set(wrong)
    return any(
        _LIST.fullmatch(sketch, places[min(rank, other)] + 1, places[max(rank, other)]) is not None
        for rank in right
        for other in (rank - 1, rank + 1)
        if other in others
    )


def _is_said(sketch: str, place: int) -> bool:
    """Whether words such as `is` lead to a value that is not asked about: `the code is 4712?` says nothing."""
    return _SAID.search(sketch[max(0, place - 30) : place]) is not None and not _QUERY.match(sketch, place + 1)


LONG = 1000
CLOSING = 300
_CJK_WEIGHT = 3
_MIN_QUESTION = 8

_SENTENCE_END = re.compile(r"(?:[.!?](?=\s|$)|[。！？!?\n])[\"')\]]*")
_CONCLUSION = re.compile(
    r"\b(?:therefore|thus|so|hence|final|finally|answer|conclusion|boxed)\b|因此|所以|答案|综上|最终|总之|故"
)


def weight(text: str) -> int:
    """Measure a text in letters of an alphabet: a CJK character says as much as three."""
    if text.isascii():
        return len(text)
    return len(text) + (_CJK_WEIGHT - 1) * sum(char >= "\u2e80" for char in text)


def first_sentence(lines: str) -> Span:
    """Find the first sentence or line of a text from `normalize_lines`."""
    match = _SENTENCE_END.search(lines)
    return Span(0, match.end() if match else len(lines))


def last_sentence(lines: str) -> Span:
    """Find the last sentence or line that has a letter or digit."""
    last = next((place for place in range(len(lines) - 1, -1, -1) if lines[place].isalnum()), 0)
    start = 0
    for match in _SENTENCE_END.finditer(lines, 0, last):
        start = match.end()
    return Span(start, len(lines))


def conclusion(lines: str) -> Span | None:
    """Find the last sentence if it is one that concludes (`so the answer is ...`, `因此...`)."""
    last = last_sentence(lines)
    return last if _CONCLUSION.search(lines, last.start, last.end) else None


def split_at_question(lines: str, question: str) -> tuple[str, str] | None:
    """Split an answer that repeats the question into what stands before the last repetition and what follows.

    Both arguments are normalised, the answer by lines. Only a real question counts: what a base model is asked to go
    on with (`The code is`) belongs to the answer. `None` when the question is not repeated.
    """
    wanted = question.strip(" \"'.,:;。：；")
    if len(wanted) < _MIN_QUESTION or not ("?" in wanted or "？" in wanted):
        return None
    at = lines.replace("\n", " ").rfind(wanted)
    return None if at < 0 else (lines[:at], lines[at + len(wanted) :].lstrip(" \"'.,:;。：；_\n"))
