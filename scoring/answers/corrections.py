"""Corrections: which values does a text take back (`A, no wait, B`; `I first thought A`; `A. That's wrong.`)?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from needlework.scoring.answers.clauses import BEFORE, before_next, sentence_before
from needlework.scoring.answers.cues import compiled, cue_pattern
from needlework.scoring.answers.folding import MARK
from needlework.scoring.answers.standing import Standing, is_plain, standings, without_harmless

_CONFIRMS = re.compile(
    r"(?<!\w)(?:yes|yep|indeed|confirmed|that(?:'s| is) (?:right|correct|it)"
    r"|(?:it|this|which|that|answer|code) (?:is|was)(?: indeed)? (?:right|correct)"
    r"|is correct|was right|ja|oui|si,|да|stimmt|c'est (?:bien|correct)|correcto)(?!\w)|はい|对[,，。]|没错|正确"
)
_SEEMED = re.compile(
    r"[\"')\]\s]*(?:(?:looks?|looked|seems?|seemed|appears?|appeared|was)(?: to be)?"
    r"(?: right| correct| plausible| likely| my first \w+| the first \w+)"
    r"|at first|(?:ist|war) (?:mein|das) erste|zuerst|d'abord|al principio|сначала)"
)


@lru_cache(1024)
def taken_back(sketch: str, values: tuple[int, ...]) -> frozenset[int]:
    """The ranks of the values that are taken back; `values`: a number for each mention, alike for one value."""
    if is_plain(sketch):
        return frozenset()
    found = standings(sketch)
    sketch = without_harmless(sketch)
    places = [place for place, char in enumerate(sketch) if char == MARK]
    back: set[int] = set()
    for rank, (start, end) in enumerate(zip(places, [*places[1:], len(sketch)], strict=True)):
        gap = sketch[start + 1 : end]
        if rank + 1 == len(places):
            if _ends_in_doubt(gap):
                back.add(rank)
        elif values[rank + 1] != values[rank] and _turns(gap, found[rank + 1]):
            back.update(earlier for earlier in range(rank + 1) if values[earlier] != values[rank + 1])
        if _was_a_first_thought(sketch, start, values[rank], list(zip(values, found, strict=True))[rank + 1 :]):
            back.add(rank)
    return frozenset(rank for rank in back if found[rank] == "given")


def _turns(gap: str, following: Standing) -> bool:
    """Whether what stands between two values takes the first one back."""
    if cue_pattern("retract").search(gap):
        return True
    return following == "given" and cue_pattern("reconsider").search(gap) is not None


def _ends_in_doubt(tail: str) -> bool:
    """Whether what follows the last value takes it back, with no value in its place."""
    retracted = cue_pattern("retract").search(tail)
    return retracted is not None and _CONFIRMS.search(tail, retracted.end()) is None


def _was_a_first_thought(sketch: str, place: int, value: int, later: Sequence[tuple[int, Standing]]) -> bool:
    if not _tentative().search(sentence_before(sketch, place)) and not _SEEMED.match(sketch, place + 1):
        return False
    if any(other != value and standing == "given" for other, standing in later):
        return True
    return cue_pattern("contrast").search(before_next(sketch[place + 1 : place + 1 + BEFORE])) is not None


@cache
def _tentative() -> re.Pattern[str]:
    return compiled("<tentative>[^.;!?]{0,60}$", "tentative")
