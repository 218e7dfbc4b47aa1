"""Numbers and dates in words and digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import prod

from needlework.scoring.match.normalize import Span, is_whole, units

# `4711` is also `4,711`, `4.711`, `47 11`, `4-7-1-1` and `4711.0`, and never `47.11`, `4711 9`,
# `4711/2` or `4711 %`. `十五` is 15 where a unit or the needle's measure word follows.
_RUN = re.compile(r"\d+(?:[.,'_ -]\d+)*")
_DIGITS = re.compile(r"\d+")
_LISTED = re.compile(r"(?<!\d)\d{4,},\d{4,}")
_TIMES = re.compile(r"\d ?[x*×] ?$")
_CHUNK = re.compile(r"[^ ]+")
_VALUE = re.compile(r"([^\d\s.,+-]{0,12}?) ?(-?\d[\d.,]*(?<=\d)) ?([^\d\s.,]{0,12}(?: [a-z]{1,12})?)")
_AROUND = 16


# `三四` (three or four) and `一百五` (150) are not read.
HAN_NUMERALS = "〇零一二三四五六七八九十百千万萬亿億两兩壹贰叁肆伍陆柒捌玖拾佰仟廿卅"
"""Han that say a number; what is in a row is one number, or none."""


_SAID = re.compile(
    rf"(?<![\d.{HAN_NUMERALS}第几幾])(?<![\d{HAN_NUMERALS}][点到至~])(?!(?<=数)十)"
    rf"[{HAN_NUMERALS}]+(?:点[〇零一二三四五六七八九]+(?!分))?(?![\d.点几幾多])"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: its digits before and behind the decimal point, `fraction` without zeros at its end."""

    span: Span
    whole: str
    fraction: str = ""


@dataclass(frozen=True, slots=True)
class ExpectedNumber:
    """A value that is a number: its digits and its unit, `""` without one."""

    whole: str
    fraction: str
    unit: str


@cache
def _unit_names() -> dict[str, str]:
    return {name: row[0] for kind in ("currencies", "units") for row in units()[kind] for name in row}


@cache
def _unit_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    names = sorted(_unit_names(), key=len, reverse=True)
    either = "|".join(rf"{re.escape(name)}(?![a-z])" for name in names)
    before = "|".join(rf"(?<![a-z]){re.escape(row)}" for row in sorted(_currencies(), key=len, reverse=True))
    scales = "|".join(rf"{re.escape(name)}(?![a-z])" for name in units()["scales"])
    return re.compile(rf"(?:{before}) ?$"), re.compile(rf"[ -]?({either})"), re.compile(rf" ?(?:{scales})")


@cache
def _currencies() -> tuple[str, ...]:
    return tuple(name for row in units()["currencies"] for name in row)


@lru_cache(1024)
def wanted_number(value: str) -> ExpectedNumber | None:
    """Read a folded value as a number with its unit; `None` where it is something else."""
    found = _VALUE.fullmatch(value)
    if found is None:
        return None
    around = [part.strip() for part in (found[1], found[3]) if part.strip()]
    if len(around) > 1 or (around and around[0] not in _unit_names()):
        return None
    if found[1] and not found[1].endswith(" ") and around[0] not in _currencies():
        return None  # `v2`, `m3`: a name. Only money's signs touch a number from before
    read = _readings(found[2].lstrip("-"))
    if not read or found[2].startswith("-"):
        return None
    whole, fraction = read[0]
    return ExpectedNumber(whole, fraction, _unit_names()[around[0]] if around else "")


def numbers(text: str, statement: str = "") -> list[Number]:
    """Every reading of every number in a folded text of one line, in order of place; one place may have several.

    `statement`: the needle, whose measure words may stand beside a Chinese numeral.
    """
    found: list[Number] = []
    for run in _RUN.finditer(text):
        if not _stands_alone(text, *run.span()):
            continue
        found += [Number(Span(*run.span()), *reading) for reading in _readings(run[0])]
        if " " in run[0] or _LISTED.search(run[0]):
            for chunk in (_CHUNK if " " in run[0] else _DIGITS).finditer(text, *run.span()):
                found += [Number(Span(*chunk.span()), *reading) for reading in _readings(chunk[0])]
    return found if text.isascii() else sorted([*found, *_said_in_han(text, statement)], key=lambda number: number.span)


@cache
def _measures() -> frozenset[str]:
    return frozenset(units()["measures"])


def _said_in_han(text: str, statement: str) -> Iterator[Number]:
    """The Chinese numerals that a unit follows, or the needle's own measure word, or that are the whole text."""
    for run in _SAID.finditer(text):
        said, end = run[0], run.end()
        if said.endswith("千") and text[end : end + 1] in ("米", "克"):
            said, end = said[:-1], end - 1
        unit = _unit_patterns()[1].match(text, end)
        measure = text[end : end + 1]
        counted = measure in _measures() and measure in statement
        if not (unit or counted or text.rstrip(" .。") == said):
            continue
        whole, _, fraction = said.partition("点")
        number = read_han(whole)
        if number is not None:
            digits = "".join(str(HAN_DIGITS[char]) for char in fraction)
            yield Number(Span(run.start(), end), str(number), digits.rstrip("0"))


def gives(text: str, number: Number, wanted: ExpectedNumber) -> bool:
    """Say whether a number in a text is the wanted one, with no unit or the same."""
    if number.whole != wanted.whole or number.fraction != wanted.fraction:
        return False
    before, after, scale = _unit_patterns()
    start, end = number.span
    behind = text[end : end + _AROUND]
    unit = after.match(behind)
    if not unit and scale.match(behind):
        return False
    if unit and behind[unit.end() :].startswith("半"):
        return False  # `十五公里半` is 15.5 km
    if not wanted.unit:
        return not (unit and unit[1] == "%")
    ahead = before.search(text[max(0, start - _AROUND) : start])
    given = {_unit_names()[found] for found in (ahead and ahead[0].strip(), unit and unit[1]) if found}
    return not given or wanted.unit in given


def _readings(run: str) -> list[tuple[str, str]]:
    """What a run of digits and single signs may say: digits of the whole and of the fraction."""
    if run.isdigit():
        return [(run, "")]
    marks = {char for char in run if not char.isdigit()}
    groups = re.split(r"\D", run)
    points = marks & {".", ","}
    if "-" in marks or not points:
        return [] if points else [("".join(groups), "")]
    *front, last = groups
    grouped = all(len(group) == 3 for group in groups[1:]) and len(groups[0]) <= 3
    if len(marks) == 1 and grouped:
        return [("".join(groups), ""), *([(groups[0], last.rstrip("0"))] if len(groups) == 2 else [])]
    if len(marks) == 1 and len(groups) > 2:
        return []
    decimal = next(char for char in reversed(run) if not char.isdigit())
    if decimal not in points or run.count(decimal) > 1 or not all(len(group) == 3 for group in front[1:]):
        return []
    return [("".join(front), last.rstrip("0"))]


def _stands_alone(text: str, start: int, end: int) -> bool:
    """No sign, letter, fraction or time of day touches it; units and scripts without spaces may follow."""
    before, further = text[start - 1 : start], text[start - 2 : start - 1]
    if before and (before == "_" or (before in "./:-^×" and (before in "-^×" or further.isdigit() or before == "."))):
        return False
    if before.isalpha() and before < "\u2e80":
        names = _unit_patterns()[0]
        if not names.search(text[max(0, start - _AROUND) : start]):
            return False
    after, beyond = text[end : end + 1], text[end + 1 : end + 2]
    if after in ("/", ":", "×") and beyond.isdigit():
        return False
    if after == "_" or (after == "-" and beyond.isalnum() and beyond < "\u2e80"):
        return _unit_patterns()[1].match(text[end : end + _AROUND]) is not None
    if after.isalpha() and after < "\u0e00":
        return _unit_patterns()[1].match(text[end : end + _AROUND]) is not None
    return before not in "x*× " or _TIMES.search(text[max(0, start - 4) : start]) is None


# A time of day may stand beside it, before or behind: `3:30 pm on 14 March 2019`, `2019-03-14 15:30`.
_HAN = ("", *"一二三四五六七八九")
_SUFFIX = r"(?:st|nd|rd|th|er|\.)?"
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})|(\d{4})[年년](\d{1,2})[月월](\d{1,2})[日号號일]")
_IN_HAN = re.compile(r"[一二三四五六七八九十]+(?=[月日号號])")
_APART = r"(?<![^\W\u2e80-\U0003ffff])(?<!\.)"  # of a script without spaces a word may touch it
_TIME = re.compile(r"(?<![\d:.])(\d{1,2})(?:[:.](\d{2}))?(?: ?([ap])\.? ?m(?![a-z])\.?|(?<=:\d\d)(?![:\d]))")
_BETWEEN = r"(?:,? ?\(?(?:(?:on|at|the|um|am|den|le|a|el|las) )*|t)"


def find_dates(text: str, value: str) -> list[Span]:
    """Find the day that `value` names, and the time of day, if it names one, in a folded text."""
    pattern = _pattern(value)
    return [Span(*found.span()) for found in pattern.finditer(text)] if pattern else []


@lru_cache(256)
def _pattern(value: str) -> re.Pattern[str] | None:
    said = _TIME.search(value)
    day = _day(value if said is None else f"{value[: said.start()]} {value[said.end() :]}")
    if day is None:
        return None
    dates = _dates(*day)
    if said is None:
        return re.compile(f"{_APART}{dates}")
    time = _times(said)
    return None if time is None else re.compile(f"{_APART}(?:{dates}{_BETWEEN}{time}|{time}{_BETWEEN}{dates})")


def _times(said: re.Match[str]) -> str | None:
    """A time of day with `am` or `pm`, and by 24 hours; `3:30` alone may be either."""
    hour, minute, half = int(said[1]), said[2] or "00", said[3]
    if hour > (12 if half else 23) or int(minute) > 59:
        return None
    clock = hour % 12 + 12 * (half == "p") if half else hour
    forms = [rf"0?{clock}:{minute}(?! ?[ap]\.? ?m(?![a-z]))"]
    if half or clock > 12:
        minutes = rf"(?:[:.]{minute})?" if minute == "00" else rf"[:.]{minute}"
        forms.append(rf"0?{(clock - 1) % 12 + 1}{minutes} ?{'ap'[clock >= 12]}\.? ?m(?![a-z])\.?")
    return rf"(?<![\d:.])(?:{'|'.join(forms)})(?!:?\d)"


def _dates(year: int, month: int, date: int) -> str:
    name = f"(?:{'|'.join(re.escape(each) for each in sorted(_months()[month - 1], key=len, reverse=True))})\\.?"
    of = r"(?:,|\s|of|de|del|den|the|г\.?)*"
    digits = rf"0?{date}"
    forms = [
        rf"{digits}{_SUFFIX}{of}\s{of}{name}{of}{year}",
        rf"{name}\s{of}{digits}{_SUFFIX}{of}{year}",
        rf"{year}[-/.]0?{month}[-/.]{digits}",
        rf"{digits}\.\s?0?{month}\.\s?{year}",
        rf"{digits}\s?{name}\s?{year}",
        rf"{year}[年년](?:0?{month}|{_in_han(month)})[月월](?:{digits}|{_in_han(date)})[日号號일]",
    ]
    if date > 12 or date == month:
        forms += [rf"{digits}[-/]0?{month}[-/]{year}", rf"0?{month}[-/]{digits}[-/]{year}"]
    return rf"(?:{'|'.join(forms)})(?!\d|[-/.]\d)"


def _in_han(number: int) -> str:
    """A number of 1 to 31 in Chinese numerals."""
    tens, ones = divmod(number, 10)
    return f"{_HAN[tens] if tens > 1 else ''}{'十' if tens else ''}{_HAN[ones]}"


def _day(value: str) -> tuple[int, int, int] | None:
    """Year, month and day of a date that names all three."""
    value = _IN_HAN.sub(lambda run: str(read_han(run[0]) or ""), value)
    found = _ISO.fullmatch(value.strip())
    if found:
        year, month, date = (int(each) for each in found.groups() if each)
        return (year, month, date) if 1 <= month <= 12 and 1 <= date <= 31 else None
    words = re.findall(r"[^\W\d_]+|\d+", value)
    months = [rank for rank, names in enumerate(_months(), 1) for word in words if word in names]
    numbers = [int(word) for word in words if word.isdigit()]
    if len(months) != 1 or len(numbers) != 2 or len(words) > 5:
        return None
    date, year = sorted(numbers)
    return (year, months[0], date) if year > 31 >= date >= 1 else None


@cache
def _months() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(names.split()) for names in units()["months"])


HAN_DIGITS = dict(
    zip("〇零一二三四五六七八九两兩壹贰叁肆伍陆柒捌玖", (0, *range(10), 2, 2, *range(1, 10)), strict=True)
)
"""Those that say a digit, with it."""
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
SCALES = {**_UNITS, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
"""Those that multiply what stands before them."""


def read_han(run: str) -> int | None:
    """Read a Chinese numeral below a million million; `None` where it may say several numbers, or none."""
    if all(char in HAN_DIGITS for char in run):
        one = len(run) == 1 or len(run) > 2 or "〇" in run or "零" in run  # `三四` is three or four
        return int("".join(str(HAN_DIGITS[char]) for char in run)) if run and one else None
    total = 0
    for signs in ("亿億", "万萬"):
        head, sign, rest = run.partition(next((char for char in run if char in signs), "\n"))
        if sign:
            many = _below_ten_thousand(head)
            if not many or (rest and len(rest) < 2):  # `三万五` is 35,000
                return None
            total, run = total + many * SCALES[sign], rest
    few = _below_ten_thousand(run) if run else 0
    return None if few is None else total + few


def _below_ten_thousand(run: str) -> int | None:
    total, digit, last, gap = 0, 0, 10_000, False
    for char in run:
        unit = _UNITS.get(char)
        if unit is None:
            if digit or char not in HAN_DIGITS:
                return None
            digit = HAN_DIGITS[char]
            gap = gap or digit == 0
        elif unit >= last or not (digit or (unit == 10 and not total)):
            return None
        else:
            total, digit, last, gap = total + (digit or 1) * unit, 0, unit, False
    if digit and 10 < last < 10_000 and not gap:
        return None  # `一百五` is 150
    return total + digit if digit or not gap else None


# `3只` is also `三只`, `15公里` `十五公里`, `K-77绿` `K77绿`; it is never a part of `十三只`, `2到3只` or `3只半`.
# Spaces beside Han are the same everywhere in folded texts (`folding.spaced_alike`).
_LONGEST = 64
_BESIDE_HAN_HAN = re.compile("[\u3040-\u9fff\uac00-\ud7a3]")
_BESIDE_HAN_RUN = rf"(?:\d+(?:\.\d+)?[{HAN_NUMERALS}]*|[{HAN_NUMERALS}]+)"
_PIECE = re.compile(rf"{_BESIDE_HAN_RUN}|[a-z]+|.")
_NUMBER = rf"((?<![\d{HAN_NUMERALS}]){_BESIDE_HAN_RUN})"
_SCALED = re.compile(r"(\d+)(?:\.(\d+))?([十百千万萬亿億]{0,2})")
_ANY_SIGN = r"(?:[-_ /.]| - )?"
_LONGER = re.compile(rf"[\d{HAN_NUMERALS}][到至~]?$")
_DECIMAL = re.compile(rf"[{HAN_NUMERALS}]点$")
_ABOUT = ("几", "幾", "数", "數")


def find_in_han(text: str, value: str) -> list[Span]:
    """Find a value with Han in a folded text of one line, with its numbers and codes in other spellings."""
    if text.isascii() or value.isascii() or len(value) > _LONGEST:
        return []
    pattern, numbers = _beside_han_pattern(value)
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
def _beside_han_pattern(value: str) -> tuple[re.Pattern[str] | None, tuple[str, ...]]:
    """A value's other spellings, and the numbers that its groups are to say; `None` for a name without any."""
    pieces = _PIECE.findall(value)
    parts, numbers = [], []
    for before, piece, after in zip(["", *pieces], pieces, [*pieces[1:], ""], strict=False):
        if _is_number(piece) and _BESIDE_HAN_HAN.match(after):
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
