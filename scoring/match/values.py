"""Where a folded text has a value: numbers, dates, codes, names, in any spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

from needlework.scoring.plain_text import CJK, Span, find_whole, is_whole

MONTHS = """
january jan januar janvier janv enero января январь|february feb februar fevrier fevr febrero февраля февраль|march mar
marz mars marzo марта март|april apr avril avr abril апреля апрель|may mai mayo мая маи|june jun juni juin junio июня
июнь|july jul juli juillet juil julio июля июль|august aug aout agosto августа август|september sep sept septembre
septiembre сентября сентябрь|october oct oktober okt octobre octubre октября октябрь|november nov novembre noviembre
ноября ноябрь|december dec dezember dez decembre diciembre декабря декабрь
"""
_MONTH_OF = {name: rank for rank, names in enumerate(MONTHS.split("|"), 1) for name in names.split()}
_MONTH = rf"({'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\.?"
_OF = r"(?:,|\s|of|de|del|den|the)*"
_DAY = r"(?<![\d.])(\d{1,2})(?:st|nd|rd|th|er|\.)?"
_DATES = (
    (re.compile(rf"{_DAY}{_OF}\s?{_OF}{_MONTH}{_OF}(\d{{4}})(?!\d)(?: года?| г\.)?"), (3, 2, 1)),
    (re.compile(rf"(?<!\w){_MONTH}\s(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?{_OF}(\d{{4}})(?!\d)"), (3, 1, 2)),
    (
        re.compile(r"(?<!\d)(\d{4})(?:[-/.](\d{1,2})[-/.]|[年년] ?(\d{1,2})[月월] ?)(\d{1,2})(?!\d)[日号號일]?"),
        (1, 2, 4),
    ),
    (re.compile(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)"), (3, 2, 1)),
    (re.compile(r"(?<!\d)(1[3-9]|2\d|3[01])[-/](\d{1,2})[-/](\d{4})(?!\d)"), (3, 2, 1)),
    (re.compile(r"(?<!\d)(\d{1,2})[-/](1[3-9]|2\d|3[01])[-/](\d{4})(?!\d)"), (3, 1, 2)),
)
_HALF_DAY = re.compile(r"(?<![\d:.])(\d{1,2})(?:[:.](\d\d))? ?([ap])\.? ?m\b\.?")
_DATE, _TIME, _AT = r"(\d{4}-\d\d-\d\d)", r"(\d\d:\d\d)", r"(?:,? ?\(?(?:(?:on|at|the|um|am|den|le|a|el|las) )*|t)"


def fold_moments(lines: str) -> str:
    """A folded text with its dates as `2024-03-05` and its times of day as `15:30`, the date first."""
    for pattern, places in _DATES:
        lines = pattern.sub(partial(_date, places=places), lines)
    lines = re.sub(r"(?<![\d:.-])(\d:\d\d)(?![\d:]| ?[ap]\.? ?m\b)", r"0\1", _HALF_DAY.sub(_time, lines))
    return re.sub(rf"{_TIME}{_AT}{_DATE}", r"\2 \1", re.sub(rf"{_DATE}{_AT}{_TIME}", r"\1 \2", lines))


def has_moment(folded: str) -> bool:
    """Whether a folded value names a day or a time of day."""
    return fold_moments(folded) != folded or re.fullmatch(rf"{_DATE}|{_TIME}|{_DATE} {_TIME}", folded) is not None


def _date(found: re.Match[str], places: tuple[int, int, int]) -> str:
    year, month, day = places
    name = found[month] or found[month + 1]
    rank, date = _MONTH_OF.get(name) or int(name), int(found[day])
    return f"{found[year]}-{rank:02}-{date:02}" if 1 <= rank <= 12 and 1 <= date <= 31 else found[0]


def _time(found: re.Match[str]) -> str:
    hour = int(found[1])
    return f"{hour % 12 + 12 * (found[3] == 'p'):02}:{found[2] or '00'}" if 1 <= hour <= 12 else found[0]


# The first spelling names the unit.
UNITS = """
$ us$ usd dollar dollars bucks|€ eur euro euros|£ gbp pound pounds|¥ jpy yen 円|元 cny rmb yuan
|chf franc francs franken|₽ rub ruble rubles roubles|₹ inr rupee rupees
|km kilometre kilometres kilometer kilometers kilometros километров 公里 千米 キロ
|m metre metres meter meters metros метров 米 メートル|cm centimetre centimetres centimeter centimeters 厘米
|mm millimetre millimetres millimeter millimeters 毫米|mile miles mi 英里|nmi nautical|ft foot feet|inch inches
|yd yard yards|kg kilogram kilograms kilogramm kilogrammes kilogramos kilo kilos килограмм 公斤 千克
|g gram grams gramm grammes 克|t ton tons tonne tonnes tonnen 吨|lb lbs|oz ounce ounces
|l litre litres liter liters 升|ml millilitre millilitres milliliter milliliters 毫升
|s sec second seconds secs 秒|min minute minutes mins minuten 分钟 分
|h hour hours hr hrs stunden heures horas 小时 時間|day days tage jours dias 天 日|week weeks 周
|month months 个月|year years yr yrs|% percent pct prozent|°c celsius|°f fahrenheit|kb kilobyte kilobytes
|mb megabyte megabytes|gb gigabyte gigabytes|tb terabyte terabytes|hz hertz|khz kilohertz|mhz megahertz
|ghz gigahertz|w watt watts|kw kilowatt kilowatts|v volt volts
"""
_UNIT_OF = {name: row.split()[0] for row in UNITS.split("|") for name in row.split()}
_SCALES = re.compile(
    r" ?(?:(?:hundred|thousand|millions?|billions?|trillion|mio|mrd|dozen|millionen|milliarden|tausend|mille|milliards"
    r"|mil|millones|тысяч|миллионов)(?!\w)|[万萬亿億百])"
)
_MONEY = r"(?:us\$|[$€£¥₽₹]|(?<![a-z])(?:usd|eur|gbp|chf|jpy))"
_BEFORE = re.compile(rf"{_MONEY} ?$")
_NAMES = "|".join(map(re.escape, sorted(_UNIT_OF, key=len, reverse=True)))
_BEHIND = re.compile(rf"[ -]?(?:degrees )?({_NAMES})(?![a-z])")
_VALUE = re.compile(rf"({_MONEY})? ?(\d[\d.,]*(?<=\d)) ?(?:degrees )?({_NAMES})?")
_RUN = re.compile(r"\d+(?:[.,'_ -]\d+)*")
_CODE = re.compile(r"[a-z0-9-]{6,}")
_SEPARATORS = str.maketrans("", "", "-_ /.")
_LETTERS = rf"[^\W{CJK}\u0e00-\u0e7f\uac00-\ud7a3]"
_ARTICLE = re.compile(r"(?:the|an?|der|die|das|dem|den|eine?[mnrs]?|les?|la|une?|el|los|las)\s(?=\S{3})|l'(?=\w{3})")


@dataclass(frozen=True, slots=True)
class Mention:
    """A value in a text: where, which, and whether it is right, a known wrong one, or of the same shape."""

    span: Span
    value: str
    kind: Literal["right", "distractor", "alike"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: digits before and behind the decimal point, without zeros at its end."""

    span: Span
    whole: str
    fraction: str


def find_mentions(text: str, answers: Sequence[str], distractors: Sequence[str], statement: str) -> list[Mention]:
    """The values of a folded text of one line, in order of place, none within another.

    A quotation of the needle's sentence is one mention of the right value, where it has one only.
    """
    read = find_numbers(text)
    found = [Mention(span, value, "right") for value in answers for span in _places(text, value, read)]
    quotes = [Span(each.start(), each.end()) for each in re.finditer(re.escape(statement), text)] if statement else []
    for quote in quotes:
        inside = [each for each in found if quote.start <= each.span.start and each.span.end <= quote.end]
        if len({each.value for each in inside}) == 1:
            found = [each for each in found if each not in inside] + [Mention(quote, inside[0].value, "right")]
    others = [value for value in distractors if value not in answers]
    found += [Mention(span, value, "distractor") for value in others for span in _places(text, value, read)]
    shaped = {span for value in answers for span in _alike(text, value, read)}
    shaped = {span for span in shaped if not re.match(r"\" ?:", text[span.end : span.end + 3])}  # a key of JSON
    found += [Mention(span, text[span.start : span.end], "alike") for span in shaped]
    return _without_overlaps(found)


def _without_overlaps(mentions: Iterable[Mention]) -> list[Mention]:
    apart: list[Mention] = []
    order = ("distractor", "right", "alike")
    for each in sorted(mentions, key=lambda one: (one.span.start, -one.span.end, order.index(one.kind))):
        if not apart or each.span.start >= apart[-1].span.end:
            apart.append(each)
        elif each.span.end - each.span.start > apart[-1].span.end - apart[-1].span.start:
            apart[-1] = each
    return apart


def find_numbers(text: str) -> list[Number]:
    """Every reading of every number of a folded text; one place may have several."""
    found: list[Number] = []
    for run in _RUN.finditer(text):
        if not _stands_alone(text, *run.span()):
            continue
        found += [Number(Span(*run.span()), *reading) for reading in _readings(run[0])]
        if " " in run[0] or re.search(r"\d{4},\d{4}|\d{4}-\d\d-\d\d", run[0]):
            for piece in re.finditer(r"[^ ,-]+(?:[.,-]\d{1,3}(?!\d))*" if "," in run[0] else r"[^ -]+", run[0]):
                span = Span(run.start() + piece.start(), run.start() + piece.end())
                found += [Number(span, *reading) for reading in _readings(piece[0])]
    return found


def _readings(run: str) -> list[tuple[str, str]]:
    marks = {char for char in run if not char.isdigit()}
    points = marks & {".", ","}
    groups = re.split(r"\D", run)
    if not points:
        return [("".join(groups), "")]
    *front, last = groups
    grouped = all(len(group) == 3 for group in groups[1:]) and len(groups[0]) <= 3
    if len(marks) == 1 and grouped:
        return [("".join(groups), ""), *([(groups[0], last.rstrip("0"))] if len(groups) == 2 else [])]
    if "-" in marks or (len(marks) == 1 and len(groups) > 2) or not all(len(group) == 3 for group in front[1:]):
        return []
    return [("".join(front), last.rstrip("0"))] if run[len(run) - len(last) - 1] in points else []


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter, sign, fraction or time of day touches a number; units and Han may."""
    before, after, further = text[max(0, start - 4) : start], text[end : end + 1], text[end + 1 : end + 2]
    if re.search(r"(?:[-^×_]|[\d×x*] ?[×x*] ?|\d[./:]|(?:^|[^.\w])\.|[第几幾])$", before):
        return False
    if re.search(rf"{_LETTERS}$", before) and not _BEFORE.search(text[max(0, start - 8) : start]):
        return False
    if after in ("/", ":", "×") and further.isdigit():
        return False
    touches = after == "_" or (after == "-" and re.match(_LETTERS, further)) or re.match(_LETTERS, after)
    return not (touches and not _BEHIND.match(text, end))


@lru_cache(1024)
def _as_number(value: str) -> tuple[str, str, str] | None:
    """A folded value as a number, its fraction and unit; `None` where it is something else."""
    found = _VALUE.fullmatch(value)
    read = _readings(found[2]) if found else []
    return (*read[0], _UNIT_OF.get(found[1] or found[3] or "", "")) if found and read else None


def _is_said(text: str, number: Number, wanted: tuple[str, str, str]) -> bool:
    """Whether a number is the wanted one, with no unit or the same."""
    whole, fraction, unit = wanted
    start, end = number.span
    if (number.whole, number.fraction) != (whole, fraction) or text[end : end + 1] == "半":
        return False
    if text[max(0, start - 1) : start] in ("到", "至", "~") and text[max(0, start - 2) : start - 1].isdigit():
        return False
    behind, before = _BEHIND.match(text, end), _BEFORE.search(text[max(0, start - 5) : start])
    if (_SCALES.match(text, end) and not behind) or (behind and text[behind.end() : behind.end() + 1] == "半"):
        return False
    said = {_UNIT_OF[each.strip()] for each in (behind and behind[1], before and before[0]) if each}
    return (not said or unit in said) if unit else "%" not in said


def _places(text: str, value: str, read: Sequence[Number]) -> list[Span]:
    """Where a text has a value, in any spelling."""
    number = _as_number(value)
    if number is not None:
        return sorted({each.span for each in read if _is_said(text, each, number)})
    found = set(find_whole(text, value))
    if any(char.isdigit() for char in value):
        code = value.translate(_SEPARATORS)
        if code.isalnum() and len(code) <= 64 and ":" not in value and code in text.translate(_SEPARATORS):
            found |= {Span(*each.span()) for each in _code_pattern(value).finditer(text)}
        return sorted(span for span in found if not _goes_on(text, *span))
    short = _ARTICLE.sub("", value, count=1) if _ARTICLE.match(value) else value
    if short != value or "-" in value or (" " in value and "-" in text):
        spaced = text.replace("-", " ")
        found |= {span for span in find_whole(spaced, short.replace("-", " ")) if is_whole(text, *span)}
    if re.fullmatch(r"[а-я]{4,}(?: [а-я]{4,})*", value):
        found |= {Span(*each.span()) for each in _inflected(value).finditer(text)}
    words = value.split(" ")
    return sorted(found) or (find_whole(text, f"{words[1]}, {words[0]}") if len(words) == 2 else [])


@lru_cache(256)
def _code_pattern(value: str) -> re.Pattern[str]:
    """A code with other signs between its letters and digits, or none."""
    signs = re.escape(value.translate(_SEPARATORS))
    return re.compile(re.sub(rf"(?<=[^\\])(?<!^)(?<![{CJK}](?=\d))(?=.)", r"(?:[-_ /.]| - )?", signs))


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether what touches a code makes it longer: `v2.5` is not `v2`."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    joined = (before[-1:] in ("-", "_", "/") and before[:1].isalnum()) or re.match(r"[-_/]\w|\.\d", after)
    starts, ends = re.match(_LETTERS, text[start]), re.match(_LETTERS, text[end - 1])
    longer = (starts and re.search(rf"{_LETTERS}$", before)) or (ends and re.match(_LETTERS, after))
    return bool(joined or longer) or after[:1] == "半" or (text[start].isdigit() and before[-1:] in ("到", "至", "第"))


@lru_cache(256)
def _inflected(value: str) -> re.Pattern[str]:
    """A Russian name in every case: its words with another ending of up to three letters."""
    stems = (re.escape(word[: max(4, len(word) - 2)]) + r"[^\W\d_]{0,3}" for word in value.split(" "))
    return re.compile(rf"(?<!\w){' '.join(stems)}(?![\w-])")


def _alike(text: str, value: str, read: Sequence[Number]) -> list[Span]:
    """What has the shape of a value: numbers of as many digits (4 or more), codes with as many signs."""
    number = _as_number(value)
    if number is not None:
        size, cents = len(number[0]), bool(number[1])
        return [each.span for each in read if len(each.whole) == size >= 4 - 3 * cents and bool(each.fraction) is cents]
    return find_same_shape(text, value)


def find_same_shape(text: str, value: str) -> list[Span]:
    """Numbers of as many digits as a value (4 or more), codes with as many signs and the same hyphens."""
    size = len(value)
    if value.isascii() and value.isdigit():
        return [Span(*each.span()) for each in _digits(size).finditer(text)] if size >= 4 else []
    if not _CODE.fullmatch(value) or value.isalpha() or not any(char.isdigit() for char in value):
        return []
    shape = re.sub(r"[^-]", "a", value)
    codes = (each for each in _signs(size).finditer(text) if re.sub(r"[^-]", "a", each[0]) == shape)
    return [Span(*each.span()) for each in codes if any(char.isdigit() for char in each[0])]


@lru_cache(256)
def _digits(size: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![\d.a-z_])\d{{{size}}}(?!\d|\.\d|[a-z_])")


@lru_cache(256)
def _signs(size: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9-])[a-z0-9-]{{{size}}}(?![a-z0-9-])")
