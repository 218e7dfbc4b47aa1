"""Finds values in a folded text: numbers, dates, codes, names, in any spelling."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from needlework.scoring.folding import names
from needlework.scoring.plain_text import CJK, Span, find_whole, is_whole

_UNIT_OF = {name: row[0] for row in names("units") for name in row}
_MONEY = r"(?:us\$|[$€£¥₽₹]|(?<![a-z])(?:usd|eur|gbp|chf|jpy))"
_BEFORE = re.compile(rf"{_MONEY} ?$")
_UNIT = f"(?:degrees )?({'|'.join(map(re.escape, sorted(_UNIT_OF, key=len, reverse=True)))})"
_BEHIND = re.compile(rf"[ -]?{_UNIT}(?![a-z])")
_VALUE = re.compile(rf"({_MONEY})? ?(\d[\d.,]*(?<=\d)) ?{_UNIT}?")
_NUMERAL = re.compile(r"\d+(?:[.,'_ -]\d+)*")
_SEPARATORS = str.maketrans("", "", "-_ /.")
_LETTERS = rf"[^\W{CJK}\u0e00-\u0e7f\uac00-\ud7a3]"
_ARTICLE = re.compile(r"(?:the|an?|der|die|das|dem|den|eine?[mnrs]?|les?|la|une?|el|los|las)\s(?=\S{3})|l'(?=\w{3})")

Claim = Literal["given", "unfamiliar", "listed", "denied", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A value in a text: right, a distractor, or of the same shape. `quoted`: with the needle's sentence.

    `claim`, how the text puts it. `unfamiliar`: beside words that neither question nor needle has; `listed`: `V or b3`;
    `withdrawn`: corrected later.
    """

    span: Span
    value: str
    kind: Literal["right", "distractor", "alike"]
    quoted: bool = False
    claim: Claim = "given"

    @property
    def is_stated(self) -> bool:
        """Whether the text gives it as an answer."""
        return self.claim in ("given", "unfamiliar", "listed")


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: digits before and behind the decimal point, without zeros at its end."""

    span: Span
    whole: str
    fraction: str


def find_mentions(text: str, answers: Sequence[str], distractors: Sequence[str], statement: str) -> list[Mention]:
    """Find the values in a folded text of one line, in order, none within another.

    A quotation of the needle's sentence (`statement`) is one mention of the right value, if it has only one.
    """
    right = [Mention(span, value, "right") for value in answers for span in find_value(text, value)]
    # A sentence that is quoted verbatim.
    for quote in (Span(*each.span()) for each in re.finditer(re.escape(statement), text)) if statement else ():
        inside = [each for each in right if quote.start <= each.span.start and each.span.end <= quote.end]
        if len({each.value for each in inside}) == 1:
            right = [each for each in right if each not in inside]
            right.append(Mention(quote, inside[0].value, "right", quoted=True))
    known = [value for value in distractors if value not in answers]
    wrong = [Mention(span, value, "distractor") for value in known for span in find_value(text, value)]
    shaped = {span for value in answers for span in find_same_shape(text, value)}
    shaped = {span for span in shaped if not re.match(r"\" ?:", text[span.end : span.end + 3])}  # a key of JSON
    return _without_overlaps(wrong + right + [Mention(span, text[slice(*span)], "alike") for span in shaped])


def _without_overlaps(mentions: Iterable[Mention]) -> list[Mention]:
    apart: list[Mention] = []
    for mention in sorted(mentions, key=lambda one: (one.span.start, -one.span.end)):
        if not apart or mention.span.start >= apart[-1].span.end:
            apart.append(mention)
        elif mention.span.end - mention.span.start > apart[-1].span.end - apart[-1].span.start:
            apart[-1] = mention
    return apart


@lru_cache(16)
def find_numbers(text: str) -> tuple[Number, ...]:
    """Find all numbers in a folded text; a span has each of its readings (`1,250`: 1250, 1.25)."""
    numbers: list[Number] = []
    for run in _NUMERAL.finditer(text):
        spans = {run.span()}
        if " " in run[0] or re.search(r"\d{4},\d{4}|\d{4}-\d\d-\d\d", run[0]):
            pieces = re.finditer(r"[^ ,-]+(?:[.,-]\d{1,3}(?!\d))*" if "," in run[0] else r"[^ -]+", run[0])
            spans |= {(run.start() + piece.start(), run.start() + piece.end()) for piece in pieces}
        for start, end in spans:
            left = start if text[start - 1 : start] == " " else run.start()
            if _stands_alone(text, left, end if text[end : end + 1] == " " else run.end()):
                numbers += [Number(Span(start, end), *reading) for reading in _readings(text[start:end])]
    return tuple(numbers)


def _readings(numeral: str) -> list[tuple[str, str]]:
    """Read digits with separators: for each reading the digits before and after the point."""
    marks = {char for char in numeral if not char.isdigit()}
    *front, last = groups = re.split(r"\D", numeral)
    if not marks & {".", ","}:
        return [("".join(groups), "")]
    if len(marks) == 1 and all(len(group) == 3 for group in groups[1:]) and len(groups[0]) <= 3:
        return [("".join(groups), ""), *([(groups[0], last.rstrip("0"))] if len(groups) == 2 else [])]
    if "-" in marks or (len(marks) == 1 and len(groups) > 2) or not all(len(group) == 3 for group in front[1:]):
        return []
    return [("".join(front), last.rstrip("0"))] if numeral[-len(last) - 1] in ".," else []


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a number is not part of a word, fraction or time of day; units and Han may touch it."""
    before, after, next_sign = text[max(0, start - 4) : start], text[end : end + 1], text[end + 1 : end + 2]
    if re.search(r"(?:[-^×_]|[\d×x*] ?[×x*] ?|\d[./:]|(?:^|[^.\w])\.|[第几幾])$", before):
        return False
    if re.search(rf"{_LETTERS}$", before) and not _BEFORE.search(text[max(0, start - 8) : start]):
        return False
    if after and after in "/:×" and next_sign.isdigit():
        return False
    touches = after == "_" or (after == "-" and re.match(_LETTERS, next_sign)) or re.match(_LETTERS, after)
    return not (touches and not _BEHIND.match(text, end))


@lru_cache(1024)
def _as_number(value: str) -> tuple[str, str, str] | None:
    """A folded value as a number, its fraction and unit; `None` where it is something else."""
    match = _VALUE.fullmatch(value)
    readings = _readings(match[2]) if match else []
    return (*readings[0], _UNIT_OF.get(match[1] or match[3] or "", "")) if match and readings else None


def _is_target(text: str, number: Number, target: tuple[str, str, str]) -> bool:
    """Whether a number is the `target` (digits, fraction, unit), with the same unit or none."""
    start, end = number.span
    after, before = _BEHIND.match(text, end), _BEFORE.search(text[max(0, start - 5) : start])
    halved = "半" in (text[end : end + 1], after and text[after.end() : after.end() + 1])
    in_range = re.search(r"\d[到至~]$", text[max(0, start - 2) : start])
    if (number.whole, number.fraction) != target[:2] or halved or in_range:
        return False
    units = {_UNIT_OF[unit.strip()] for unit in (after and after[1], before and before[0]) if unit}
    scaled = "hundred" in units - {target[2]}
    return not scaled and ((not units or target[2] in units) if target[2] else "%" not in units)


def find_value(text: str, value: str) -> list[Span]:
    """Find a folded value in a folded text, in any spelling."""
    number = _as_number(value)
    if number is not None:
        return sorted({each.span for each in find_numbers(text) if _is_target(text, each, number)})
    spans = set(find_whole(text, value))
    if any(char.isdigit() for char in value):
        code = value.translate(_SEPARATORS)
        if code.isalnum() and len(code) <= 64 and ":" not in value and code in text.translate(_SEPARATORS):
            spelled = re.sub(rf"(?<=[^\\])(?<!^)(?<![{CJK}](?=\d))(?=.)", r"(?:[-_ /.]| - )?", re.escape(code))
            spans |= {Span(*each.span()) for each in re.finditer(spelled, text)}
        return sorted(span for span in spans if not _is_longer(text, *span))
    short = _ARTICLE.sub("", value, count=1)
    if short != value or "-" in value or (" " in value and "-" in text):
        spaced = text.replace("-", " ")
        spans |= {span for span in find_whole(spaced, short.replace("-", " ")) if is_whole(text, *span)}
    if re.fullmatch(r"[а-я]{4,}(?: [а-я]{4,})*", value):  # a Russian name, inflected
        stems = " ".join(rf"{word[: max(4, len(word) - 2)]}[^\W\d_]{{0,3}}" for word in value.split(" "))
        spans |= {Span(*each.span()) for each in re.finditer(rf"(?<!\w){stems}(?![\w-])", text)}
    words = value.split(" ")
    return sorted(spans) or (find_whole(text, f"{words[1]}, {words[0]}") if len(words) == 2 else [])


def _is_longer(text: str, start: int, end: int) -> bool:
    """Whether a code is part of a longer one: `v2` in `v2.5`."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    joined = re.search(r"[^\W_][-_/]$", before) or re.match(r"[-_/]\w|\.\d|半", after)
    longer = re.match(_LETTERS, text[start]) and re.search(rf"{_LETTERS}$", before)
    longer = longer or (re.match(_LETTERS, text[end - 1]) and re.match(_LETTERS, after))
    return bool(joined or longer) or (text[start].isdigit() and before[-1:] in ("到", "至", "第"))


def find_same_shape(text: str, value: str) -> list[Span]:
    """Find numbers with as many digits as a value (4 or more, or a fraction), codes of its form."""
    number = _as_number(value)
    if number is not None:
        size, cents = len(number[0]), bool(number[1])
        alike = (each for each in find_numbers(text) if len(each.whole) == size and bool(each.fraction) is cents)
        return [each.span for each in alike] if size >= 4 - 3 * cents else []
    if not re.fullmatch(r"(?=.*[0-9])(?=.*[a-z-])[a-z0-9-]{6,}", value):
        return []
    shape = re.sub(r"[^-]+", lambda run: f"[a-z0-9]{{{len(run[0])}}}", value)
    codes = re.finditer(rf"(?<![a-z0-9-]){shape}(?![a-z0-9-])", text)
    return [Span(*each.span()) for each in codes if re.search(r"\d", each[0])]
