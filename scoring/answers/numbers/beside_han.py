"""Values with Han in them: their numbers in digits or in Chinese numerals, their codes with other dashes.

`3只` is also `三只`, `15公里` `十五公里`, `K-77绿` `K77绿`; it is never a part of `十三只`, `2到3只` or `3只半`. Spaces
beside Han are the same everywhere in folded texts (`folding.spaced_alike`).
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import prod

from needlework.scoring.answers.numbers.chinese import HAN_NUMERALS, SCALES, read_han
from needlework.scoring.answers.values import Span, is_whole

_LONGEST = 64
_HAN = re.compile("[\u3040-\u9fff\uac00-\ud7a3]")
_RUN = rf"(?:\d+(?:\.\d+)?[{HAN_NUMERALS}]*|[{HAN_NUMERALS}]+)"
_PIECE = re.compile(rf"{_RUN}|[a-z]+|.")
_NUMBER = rf"((?<![\d{HAN_NUMERALS}]){_RUN})"
_SCALED = re.compile(r"(\d+)(?:\.(\d+))?([十百千万萬亿億]{0,2})")
_ANY_SIGN = r"(?:[-_ /.]| - )?"
_LONGER = re.compile(rf"[\d{HAN_NUMERALS}][到至~]?$")
_DECIMAL = re.compile(rf"[{HAN_NUMERALS}]点$")
_ABOUT = ("几", "幾", "数", "數")


def find_in_han(text: str, value: str) -> list[Span]:
    """Find a value with Han in a folded text of one line, with its numbers and codes in other spellings."""
    if text.isascii() or value.isascii() or len(value) > _LONGEST:
        return []
    pattern, numbers = _pattern(value)
    return [
        Span(*found.span())
        for found in (pattern.finditer(text) if pattern else ())
        if all(map(_is_same_number, found.groups(), numbers))
        and not (found[0][0] in HAN_NUMERALS and text[found.start() - 1 : found.start()] == "第")
        and is_whole(text, *found.span())
        and not is_rest_of_a_number(text, found.start())
        and text[found.end() : found.end() + 1] != "半"
    ]


def goes_on_in_han(text: str, start: int, end: int) -> bool:
    """Whether what begins with a number is a part of a longer one: `十三只`, `2到3只`, `3只半`."""
    if text[start].isdigit() and text[end : end + 1] == "半":
        return True
    return is_rest_of_a_number(text, start)


def is_rest_of_a_number(text: str, start: int) -> bool:
    """Whether a number that starts here has begun before: `三只` in `十三只`, `两到三只`; `十只` in `几十只`."""
    numeral = text[start] in HAN_NUMERALS
    if not (numeral or text[start].isdigit()):
        return False
    if _LONGER.search(text, max(0, start - 2), start) or (numeral and _DECIMAL.search(text, max(0, start - 2), start)):
        return True
    return text[start] in "十百千万" and text[max(0, start - 1) : start].endswith(_ABOUT)


@lru_cache(256)
def _pattern(value: str) -> tuple[re.Pattern[str] | None, tuple[str, ...]]:
    """A value's other spellings, and the numbers that its groups are to say; `None` for a name without any."""
    pieces = _PIECE.findall(value)
    parts, numbers = [], []
    for before, piece, after in zip(["", *pieces], pieces, [*pieces[1:], ""], strict=False):
        if _is_number(piece) and _HAN.match(after):
            parts.append(_NUMBER)
            numbers.append(piece)
        elif piece in "-_ " and before and after:
            parts.append(_sign(before[-1], piece, after[0]))
        else:
            parts.append(re.escape(piece))
        if _is_code(piece[-1], after[:1]):
            parts.append(_ANY_SIGN)
    named = not numbers and not any(char.isdigit() for char in value)
    return None if named else re.compile("".join(parts)), tuple(numbers)


def _is_number(piece: str) -> bool:
    return piece[0].isdigit() or piece[0] in HAN_NUMERALS


def _is_code(one: str, other: str) -> bool:
    """Whether a letter and a digit stand side by side."""
    return (_is_letter(one) and other.isdigit()) or (one.isdigit() and _is_letter(other))


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def _sign(before: str, sign: str, after: str) -> str:
    """What may stand in place of a dash or space: nothing as well, but for digits, whose number it would change."""
    if after.isdigit() and not _is_letter(before):
        return "[-_ ]" if before.isdigit() else re.escape(sign)
    return _ANY_SIGN


def _is_same_number(given: str, wanted: str) -> bool:
    """Digits are equal as they stand; a Chinese numeral by the number that it says."""
    if given == wanted:
        return True
    if given.isdigit() and wanted.isdigit():
        return False
    number = _number(given)
    return number is not None and number == _number(wanted)


def _number(run: str) -> Fraction | None:
    """What a run of digits and numerals says: `15`, `十五`, `1.5万`."""
    scaled = _SCALED.fullmatch(run)
    if scaled is None:
        read = read_han(run)
        return None if read is None else Fraction(read)
    number = Fraction(int(scaled[1] + (scaled[2] or "")), 10 ** len(scaled[2] or ""))
    return number * prod(SCALES[char] for char in scaled[3])
