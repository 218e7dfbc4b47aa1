"""Numbers as answers write them: digit groups, decimals, units; and how a wanted number is told from others.

`4711` is also `4,711`, `4.711`, `47 11`, `4-7-1-1` and `4711.0`, and never `47.11`, `4711 9`, `4711/2` or `4711 %`.
`十五` is 15 where a unit or the needle's measure word follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from needlework.scoring.answers.folding import units
from needlework.scoring.answers.numbers.chinese import HAN_DIGITS, HAN_NUMERALS, read_han
from needlework.scoring.answers.values import Span

_RUN = re.compile(r"\d+(?:[.,'_ -]\d+)*")
_DIGITS = re.compile(r"\d+")
_LISTED = re.compile(r"(?<!\d)\d{4,},\d{4,}")
_TIMES = re.compile(r"\d ?[x*×] ?$")
_CHUNK = re.compile(r"[^ ]+")
_VALUE = re.compile(r"([^\d\s.,+-]{0,12}?) ?(-?\d[\d.,]*(?<=\d)) ?([^\d\s.,]{0,12}(?: [a-z]{1,12})?)")
_AROUND = 16
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
class Wanted:
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
def wanted_number(value: str) -> Wanted | None:
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
    return Wanted(whole, fraction, _unit_names()[around[0]] if around else "")


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


def gives(text: str, number: Number, wanted: Wanted) -> bool:
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
