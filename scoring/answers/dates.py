"""Dates: one day in the spellings of several languages (`14 March 2019`, `March 14th, 2019`, `2019-03-14`)."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from needlework.scoring.answers.folding import units
from needlework.scoring.answers.values import Span

_SUFFIX = r"(?:st|nd|rd|th|er|\.)?"
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})|(\d{4})年(\d{1,2})月(\d{1,2})日")


def find_dates(text: str, value: str) -> list[Span]:
    """Find the day that `value` names, if it names one, in a folded text."""
    pattern = _pattern(value)
    return [Span(*found.span()) for found in pattern.finditer(text)] if pattern else []


@lru_cache(256)
def _pattern(value: str) -> re.Pattern[str] | None:
    day = _day(value)
    if day is None:
        return None
    year, month, date = day
    name = f"(?:{'|'.join(re.escape(each) for each in sorted(_months()[month - 1], key=len, reverse=True))})\\.?"
    of = r"(?:,|\s|of|de|del|den|the|г\.?)*"
    digits = rf"0?{date}"
    forms = [
        rf"{digits}{_SUFFIX}{of}\s{of}{name}{of}{year}",
        rf"{name}\s{of}{digits}{_SUFFIX}{of}{year}",
        rf"{year}[-/.]0?{month}[-/.]{digits}",
        rf"{digits}\.\s?0?{month}\.\s?{year}",
        rf"{digits}\s?{name}\s?{year}",
        rf"{year}年0?{month}月{digits}日",
    ]
    if date > 12 or date == month:
        forms += [rf"{digits}[-/]0?{month}[-/]{year}", rf"0?{month}[-/]{digits}[-/]{year}"]
    return re.compile(rf"(?<![\w.])(?:{'|'.join(forms)})(?!\d|[-/.]\d)")


def _day(value: str) -> tuple[int, int, int] | None:
    """Year, month and day of a date that names all three."""
    found = _ISO.fullmatch(value)
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
