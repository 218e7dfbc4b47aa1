"""Dates: one day in the spellings of several languages (`14 March 2019`, `March 14th, 2019`, `2019-03-14`).

A time of day may stand beside it, before or behind: `3:30 pm on 14 March 2019`, `2019-03-14 15:30`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from needlework.scoring.answers.folding import units
from needlework.scoring.answers.numbers.chinese import read_han
from needlework.scoring.answers.values import Span

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
