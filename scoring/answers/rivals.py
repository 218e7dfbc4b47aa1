"""Two different values in one answer: which of them is the answer?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from needlework.scoring.answers.cues import compiled
from needlework.scoring.answers.folding import MARK, units
from needlework.scoring.answers.mentions import sketch_of
from needlework.scoring.answers.numbers.chinese import HAN_NUMERALS
from needlework.scoring.answers.readings import Reading

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
