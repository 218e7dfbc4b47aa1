"""Two different values in one answer: which of them is the answer?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from needlework.scoring.answers.cues import compiled
from needlework.scoring.answers.folding import MARK
from needlework.scoring.answers.mentions import sketch_of
from needlework.scoring.answers.readings import Reading

Preferred = Literal["right", "wrong", "unread"]

_SENTENCE = re.compile(r"[.!?](?=[\s\"')\]]|$)|[。！？；;\n]")
_CLAUSE = re.compile(
    r"[.!?;:,()](?=\s|$)|[(),。！？；、\n]|\s-\s|(?<!\w)(?:and|but|while|whereas|und|aber|et|mais|y|pero|и|а|но)(?!\w)|但|而"
)
_RELATIVE = re.compile(r"\s*,\s*(?:who|which|that)\b")
_ELLIPTIC = re.compile(r"\s*(?:was|is|were|had|has|has been|then|later)\b")
_SAID = re.compile(
    r"(?:(?:(?<!\w)(?:is|are|be|reads|equals|ist|lautet|est|es)|'s)(?:\s(?:aber|actually|indeed|really))?"
    r"|[:=]|->|は|是|为|это|- )\s*(?:the\s)?[\"'(*$\\{\s]*$"
)
_LIST = re.compile(r"[\"')*\s]*(?:[,;/|&+]|-)?\s*(?:(?:and|und|et|y|и|e)(?!\w)|和|与|、|と)?[\"'(*\s]*-?\s*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_BARE = 99


def preferred(lines: str, read: Sequence[Reading], asked: frozenset[str]) -> Preferred:
    """Say which an answer gives, the right value or another one; it gives both. `asked`: the question's words."""
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
    aside = [all(_in_brackets(sketch, places[rank]) for rank in ranks) for ranks in (right, wrong)]
    if aside[0] != aside[1]:
        return "wrong" if aside[0] else "right"
    told = [max(_told(sketch, places, rank, asked) for rank in ranks) for ranks in (right, wrong)]
    said = [any(_is_said(sketch, places[rank]) for rank in ranks) for ranks in (right, wrong)]
    if told[0] != told[1]:
        return "right" if told[0] > told[1] else "wrong"
    if said[0] != said[1]:
        return "right" if said[0] else "wrong"
    return "wrong" if said[0] or told[0] == _BARE else "unread"


def is_one_of_two(text: str, end: int) -> bool:
    """Whether an `or` and another number follow the value that ends there: `12 or 13`."""
    return _or_number().match(text, end) is not None


@cache
def _or_number() -> re.Pattern[str]:
    return compiled(r"[\"')*\s]*,?\s*<either>(?:\s|[\"'(*])*\d", "either")


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


def _in_brackets(sketch: str, place: int) -> bool:
    before = sketch[max(0, place - 100) : place]
    return before.rfind("(") > before.rfind(")")


def _told(sketch: str, places: Sequence[int], rank: int, asked: frozenset[str]) -> int:
    """How many of the question's words stand in a value's clause; a value that stands alone says it all."""
    place = places[rank]
    start = max((found.end() for found in _SENTENCE.finditer(sketch, max(0, place - 200), place)), default=0)
    ahead = sketch[start:place]
    parts = _CLAUSE.split(ahead)
    own = parts[-1].split(MARK)[-1]
    end = places[rank + 1] if rank + 1 < len(places) else len(sketch)
    stop = _CLAUSE.search(sketch, place + 1, end)
    behind = sketch[place + 1 : stop.start() if stop else end]
    if not _WORD.search(own) and not _WORD.search(behind) and not _WORD.search(ahead):
        return _BARE
    words = [*_WORD.findall(own), *_WORD.findall(behind)]
    if _RELATIVE.match(sketch, place + 1):
        words += _WORD.findall(sketch[place + 1 : end])
    if len(parts) > 1 and _ELLIPTIC.match(own):
        words += _WORD.findall(parts[-2])[:3]
    return len(asked.intersection(words))


def _is_said(sketch: str, place: int) -> bool:
    return _SAID.search(sketch[max(0, place - 30) : place]) is not None
