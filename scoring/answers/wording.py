"""Is a value stated in words that can be read, or in words that may say anything of it?

The words beside a value are familiar where they are the question's, the needle's, or those that every answer uses
(`according to the text`, `the code is`). A strange word may be another way to say what was asked, or something else
(`he grew up in M`, `the joining fee is M`, `quiet-haven: M`, `M, but that one is the neighbour's`): nobody can tell
without knowing what words mean, so such a value is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from needlework.scoring.answers.cues import any_of, compiled, known_words, vocabulary
from needlework.scoring.answers.folding import MARK, units
from needlework.scoring.answers.keys import is_same, owner_words
from needlework.scoring.answers.standing import TWICE

_AROUND = 160
_STEM = 6
_BREAK = re.compile(
    r"[.!?;:(){}|\[\]](?=\s|$)|,(?!\d)|[(\[{}|\n。！？；，、：「」（）]|\s-\s|->|=>"
    r"|(?<!\w)(?:and|but|while|whereas|although|though|und|aber|sondern|et|mais|y|pero|sino|и|а|но|e)(?!\w)|但|而"
)
_SENTENCE = re.compile(rf"[.!?](?=\s|$)|[;\n。！？；{MARK}]")
_LABELLED = re.compile(r"[:=|(\[{>-][^\w\n]*$")
_BRACKET = compiled(r"[\"'*_\s,]*[(\[](?!(?:in|at|from|near|on|see|im|auf|dans|en|sur|в|на)\s)([^)\]M\n]{1,80})[)\]]")
_WHICH = compiled(r"[\"'*_\s]*,\s*(?:which|welche[rs]?|lequel|котор\w+)(?!\w)([^.!?,;\nM。！？；]*)")
_WHO = compiled(r"[\"'*_\s]*,\s*(?:who|whose|der|die|qui|quien|котор\w+)(?!\w)([^.!?,;\nM。！？；]*)")
# What goes on about the value: `M. That is ...`, `M, but ...`, unless it tells where it stands.
_COMMENT = compiled(
    r"[^\wM]*(?:(?:and|but|yet|hmm+|well|und|aber|et|mais|y|pero|и|но|а)[\s,]+)*"
    r"(?:(?:that|this|it)(?: one| number| value| code)?(?:'s| is| was| belongs| goes| refers| has)"
    r"|(?:das|dies\w*|es|er|sie) (?:ist|war|gehort)|c'(?:est|etait)|(?:il|elle|celui-ci) est"
    r"|(?:eso|esto|ese|este|pero) (?:es|era)|это|то|он|那是|这是|那个|这个|[そこ]れは)(?!\w)"
    r"(?!\s*(?:(?:\w+ly|not|only|also)\s+)*(?:in|at|near|on|found|mentioned|stated|located|hidden|stands?|given)"
    r"(?! (?:for|under|as|to|by|with))(?!\w))"
    r"([^.!?;\nM。！？；]*)"
)
_CONTRAST = compiled(
    r"[^.!?;\nM。！？；]{0,60}?(?:(?<!\w)(?:but|though|although|however|yet|except|allerdings|aber|jedoch|obwohl|mais"
    r"|cependant|pourtant|quoique|pero|aunque|sin embargo|но|однако|хотя)(?!\w)|但|不过|然而|しかし|ただし|が,)"
    r"((?=[^.!?;\nM。！？；]*?(?:(?<!\w)(?:that|this|it|only|nowhere|for|of|to|under|as|belongs|instead|wrong|den|von|vom|zu|fur"
    r"|de|du|d|pour|del|para|nur|solo|seulement|для|у|от|только)(?!\w)|'s(?!\w)|[的の属只]))[^.!?;\nM。！？；]*)(?!M)"
)
_DASHED = compiled(r"[\"'*_]*(?:\s*\s-|:)\s([^.!?;,\nM(。！？；]*)")
_RATE = compiled(r"M\s(?:per|a|an|each|every|pro|par|por|im|al)\s([^\W\d_]+)")
_LIST = compiled(r"M[\"')*\s]*(?:[,;/|&+]\s*)?(?:(?:and|or|und|et|y|и|e)(?!\w)|和|与|、|と)?[\"'*\s]*(?=M)")
_WORD = re.compile(r"[^\W\d_\u2e80-\U0003ffff]{2,}|[\u3400-\u9fff\u30a0-\u30ff]")
_NUMBER = re.compile(r"\W*\d")
_OTHER = re.compile(rf"[^{MARK}]")
_READ = ("harmless", "retract", "reconsider", "tentative", "new_before", "either")
# A number beside one of these is a bound, a date that something was reached by, or a part of another number.
_BOUND = compiled(
    r"(?<!\w)(?:by|once|(?<!other )than)\s+[^\w\s]?M|M[^.,;:!?()M]{0,60}(?<!\w)than(?!\w)"
    r"|M[\w\s]{0,30}?(?<!\w)of (?:its|their|\d+)(?!\w)"
)
# `M到4只`: one end of a range; `M或16公里`: one of two, of a measure of two characters, which no other rule reads.
# Dates and times may be asked for by their range.
_RANGE = compiled(
    r"(?:M[\u3400-\u9fff]{0,2}[到至]\d|\d[\u3400-\u9fff]{0,2}[到至]M"
    r"|M[\u3400-\u9fff]{0,2}~+\d+[\u3400-\u9fff]{2}|\d[\u3400-\u9fff]{2}~+M)(?![年月日号点时分秒])"
)
_MOMENT = tuple("年月日号点时分秒")
_ABOUT = compiled(
    r"(?:(?<!\w)(?:about|around|roughly|approximately|circa|ca\.?|ungefahr|etwa|environ|aproximadamente|alrededor de"
    r"|около|примерно)|[约約]|およそ)\s*[^\w\s]?M"
)


def strange_values(sketch: str, values: Sequence[str], familiar: frozenset[str], *, contrast: bool) -> frozenset[int]:
    """The ranks of the values of a sketch beside which there are words that cannot be read.

    `familiar`: the question's and the needle's words; where there are none, nothing is strange. `contrast`: a value is
    denied, old or another's, so that words of denial and change are about that one.
    """
    if not familiar or not values:
        return frozenset()
    places = [place for place, char in enumerate(sketch) if char == MARK]
    joined = _LIST.sub(lambda found: "~" * len(found[0]), _without_read(sketch))
    passed = _stems() if contrast else frozenset()
    found: set[int] = set()
    at, strange = -1, False
    for rank, place in enumerate(places):
        if place > at:
            at = joined.find(MARK, place)
            strange = _is_strange(joined, at, values[rank], familiar, passed)
        if strange:
            found.add(rank)
    return frozenset(found)


@lru_cache(1024)
def familiar_words(question: str, statement: str) -> frozenset[str]:
    """The words of a folded question and needle that say something, and those that a question word stands for."""
    asked = frozenset(_WORD.findall(question))
    stands_for = (words.split() for sign, words in units()["sought"].items() if sign in asked)
    return (asked - _frame()).union(_content(statement), *stands_for)


def _is_strange(sketch: str, place: int, value: str, familiar: frozenset[str], passed: frozenset[str]) -> bool:
    start, end = _clause(sketch, place)
    clause = sketch[start:end]
    if (value[-1:].isdigit() and _ABOUT.search(clause)) or (_NUMBER.match(value) and _BOUND.search(clause)):
        return True
    if _NUMBER.match(value) and not value.endswith(_MOMENT) and _RANGE.search(clause):
        return True
    rate = _RATE.search(clause)
    if rate and not _is_in(rate[1], familiar):
        return True
    who = _WHO.match(sketch, place + 1)
    told = [*_content(who[1])] if who else []
    if told and all(_is_in(word, familiar) for word in told):
        return False  # `he met M, who was the captain`
    inside = [*_content(clause)]
    beside = [*inside, *_remarks(sketch, place, end)]
    if not inside:
        beside += _content(_label(sketch, place))
    return not all(word[:_STEM] in passed or _is_in(word, familiar) for word in beside)


def _clause(sketch: str, place: int) -> tuple[int, int]:
    """Where the clause of a value starts and ends."""
    first = max(0, place - _AROUND, sketch.rfind(MARK, 0, place) + 1)
    start = max((found.end() for found in _BREAK.finditer(sketch, first, place)), default=first)
    after = sketch.find(MARK, place + 1, place + _AROUND)
    last = min(len(sketch), place + _AROUND) if after < 0 else after
    stop = _BREAK.search(sketch, place + 1, last)
    return start, stop.start() if stop else last


def _label(sketch: str, place: int) -> str:
    """What stands before a value that stands alone: `the north gate: M`, `north gate (M)`, `| north gate | M |`."""
    first = max(0, place - _AROUND)
    start = max((found.end() for found in _SENTENCE.finditer(sketch, first, place)), default=first)
    label = _LABELLED.search(sketch, start, place)
    pieces = [piece for piece in _BREAK.split(sketch[start : label.start()]) if piece.strip()] if label else []
    return pieces[-1] if pieces else ""


def _remarks(sketch: str, place: int, end: int) -> Iterator[str]:
    """The words of what is said of a value behind its clause: in brackets, in the next sentence, or by a contrast."""
    for pattern, at in (
        (_BRACKET, place + 1),
        (_WHICH, place + 1),
        (_DASHED, place + 1),
        (_COMMENT, end),
        (_CONTRAST, end),
    ):
        found = pattern.match(sketch, at, min(len(sketch), at + 2 * _AROUND))
        if found:
            yield from _content(found[1])


def _content(text: str) -> Iterator[str]:
    return (word for word in _WORD.findall(text) if word not in _frame())


def _is_in(word: str, words: frozenset[str]) -> bool:
    return word in words or any(is_same(word, other) for other in words)


@lru_cache(1024)
def _without_read(sketch: str) -> str:
    """Blank out what the other rules read: corrections, doubts that affirm, two denials."""
    places = [0, *(place for place, char in enumerate(sketch) if char == MARK)]
    for start, end in pairwise(places):
        twice = TWICE.search(sketch, start, end)
        if twice:
            sketch = f"{sketch[: twice.start()]}{_blank(twice)}{sketch[end:]}"
    return any_of(_READ).sub(_blank, sketch)


def _blank(found: re.Match[str]) -> str:
    return _OTHER.sub("~", found[0])


@cache
def _stems() -> frozenset[str]:
    return frozenset(word[:_STEM] for word in vocabulary())


@cache
def _frame() -> frozenset[str]:
    """Words that say nothing of a value."""
    spelled = (word for kind in ("currencies", "units") for row in units()[kind] for word in row)
    words = _WORD.findall(" ".join([*spelled, *units()["months"], *units()["english"], *units()["tens"]]))
    unspaced = (char for word in owner_words()["unspaced"] for char in word)
    return known_words().union(unspaced, words, *owner_words().values()) - {"asked"}
