"""What an answer asserts: corrections, refusals, clauses, unfamiliar wording."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from needlework.scoring.match.normalize import MARK, fold, units
from needlework.scoring.match.owners import is_same, owner_words
from needlework.scoring.match.polarity import (
    any_of,
    compiled,
    cue_pattern,
    has_any,
    is_denied,
    known_words,
    refusal_end,
    vocabulary,
)

# The text is a sketch (`cues`): every value is one `MARK`. Each value is read in its clause; then corrections take back
# what stands before them (`corrections`).
Standing = Literal["given", "denied", "old", "supposed"]

_TROUBLE = (
    "not_before", "not_beside", "not_after", "retract", "reconsider", "tentative", "old_before", "old_beside",
    "old_after", "suppose",
)  # fmt: skip
# Signs and words that no table holds, and that a closer look is for.
_CLOSER = re.compile(
    r"->|=>|[由从]|か"
    r"|\b(?:from|left|leaving|von|now|nu|ora|adesso|agora|teraz|nyni|simdi|ahora|jetzt|nun|but)\b"
)
_OTHER = re.compile(rf"[^{MARK}]")
_LIST = re.compile(
    r"[\"')\s]*(?:,\s*)?(?:,|/|nor|or|and|noch|und|oder|ni|ou|et|y|e|o|ни|и|или|и|和|或者?|与|または|や|と)?[\"'(\s]*"
)


@lru_cache(1024)
def standings(sketch: str) -> tuple[Standing, ...]:
    """What the text says of each of its values, in order of place."""
    places = [place for place, char in enumerate(sketch) if char == MARK]
    if is_plain(sketch) and not any(is_denied(sketch, place, place + 1) for place in places):
        return tuple("given" for _ in places)
    sketch = without_harmless(sketch)
    found: list[Standing] = []
    for rank, place in enumerate(places):
        start = places[rank - 1] + 1 if rank else 0
        linked = rank > 0 and _LIST.fullmatch(sketch, start, place) and sketch[start:place].strip() not in (",", "")
        found.append(found[-1] if linked and found[-1] in ("denied", "supposed") else _standing(sketch, place))
    return tuple(found)


def is_negated(text: str, start: int, end: int) -> bool:
    """Whether a text denies what stands from `start` to `end`, in any language that the tables know."""
    if is_denied(text, start, end):
        return True
    ahead = fold(f"{text[max(0, start - BEFORE) : start]}|")[:-1]
    sketch = without_harmless(f"{ahead}{MARK}{fold(f'|{text[end : end + AFTER]}')[1:]}")
    patterns, place = _patterns(), len(ahead)
    if patterns.not_after.match(sketch, place + 1):
        return True
    denied = patterns.not_before.search(clause_before(sketch, place)) is not None
    return denied and not TWICE.search(sentence_before(sketch, place))


@lru_cache(1024)
def is_plain(sketch: str) -> bool:
    """Whether a text has no word that could deny a value, correct it, or put it elsewhere."""
    return not has_any(sketch, _TROUBLE) and not _CLOSER.search(sketch)


def without_harmless(sketch: str) -> str:
    """Blank out phrases that deny nothing, as `no doubt`; every value keeps its place."""
    return cue_pattern("harmless").sub(lambda found: _OTHER.sub("~", found[0]), sketch)


def _standing(sketch: str, place: int) -> Standing:
    patterns = _patterns()
    clause, sentence = clause_before(sketch, place), sentence_before(sketch, place)
    after = sketch[place + 1 : place + 1 + AFTER]
    if is_denied(sketch, place, place + 1) or patterns.not_after.match(after):
        return "denied"
    denied = patterns.not_before.search(clause) or patterns.not_beside.search(clause) or _APART.search(sentence)
    if denied and not TWICE.search(sentence):
        return "denied"
    named = clause if clause.strip() else sentence  # `the old code, M, is gone`
    if patterns.suppose.search(sentence):
        return "supposed"
    if patterns.old_beside.search(clause) or patterns.old_before.search(named) or patterns.old_after.match(after):
        return "old"
    return "old" if _is_left(clause, after) else "given"


def _is_left(clause: str, after: str) -> bool:
    """`from M to ...`, `M -> M`, `was M, now ...`."""
    if _ARROW.match(after) or (_patterns().moved.search(clause) and _TO.match(after)):
        return True
    return _WAS.search(clause) is not None and _NOW.match(after) is not None


class _Patterns(NamedTuple):
    not_before: re.Pattern[str]
    not_beside: re.Pattern[str]
    not_after: re.Pattern[str]
    old_before: re.Pattern[str]
    old_beside: re.Pattern[str]
    old_after: re.Pattern[str]
    moved: re.Pattern[str]
    suppose: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    words = r"(?:\W+(?!M)(?:[^\W\d_]+|\d{1,2})){0,7}\W*$"
    beside = r"(?:\s*(?:the|a|an|le|la|el|der|die|das|den|dem|code|value|number|of|de|du))*\W*$"
    after = r"[\"')\]}*$\s]*(?:,\s*(?:which|who|that|welche[rs]?|der|die|das|que|qui|котор\w+)\s+)?(?:[\"'\[*$\s:=]*)"
    return _Patterns(
        not_before=compiled("<not_before>" + words, "not_before"),
        not_beside=compiled("<not_beside>" + beside, "not_beside"),
        not_after=compiled(after + "<not_after>", "not_after"),
        old_before=compiled(r"<old_before>(?:\W+(?!M)[^\W\d_]+){0,3}\W*$", "old_before"),
        old_beside=compiled("<old_beside>" + beside, "old_beside"),
        old_after=compiled(after + "<old_after>", "old_after"),
        moved=compiled(rf"(?<!\w)(?:from|von|vom|de|del|desde|с|со|из|left|leaving|verliess){beside}|[由从]$|から$"),
        suppose=compiled("<suppose>[^,;.]{0,60}$", "suppose"),
    )


# Two denials affirm: `no other code than M`, `kein Code außer M`.
TWICE = re.compile(
    r"(?:(?<!\w)(?:no|none|nothing|not|never|cannot|kein\w*|nichts?|niemand|rien|aucun\w*|pas|personne|nada|nadie"
    r"|ningun\w*|нет|ничего|никак\w*|никто)(?!\w)|n't(?!\w)|没有?|不).{0,60}?(?:(?<!\w)(?:other (?:\w+ ){0,3}than"
    r"|(?:any|every)thing but|but|except(?: for)?|besides|apart from|aside from|ausser|als|until|erst|sauf|que|excepte"
    r"|excepto|salvo|mas que|кроме)(?!\w)|除了|以外)\W*$"
)
_APART = re.compile(r"\b(?:not|nicht|pas|no es|не)\s*:\s*[\"'(*]*$|\b(?:any|every|all)\w* (?:\w+ )?but\W*$")
_TO = compiled(
    r"[^.;!?M]{0,30}?(?:(?<!\w)(?:to|auf|zu|nach|a|al|vers|pour|en|на|в|for|bis)(?!\w)|->|=>|[到为成至]|へ|に)"
    r"[^.;!?M]{0,20}M"
)
_ARROW = compiled(r"[\"')\]\s]*(?:\([^)M]{0,20}\)\s*)?(?:->|=>)\s*[\"'(]*M")
_WAS = re.compile(r"(?:was|were|had|war|era|byl|hatte|etait|avait|tenia|был[аои]?|是|は)[^.;]{0,24}$")
_NOW = compiled(
    r"[^.!?M]{0,12}(?<!\w)(?:now|today|since then|since|currently|nowadays|jetzt|nun|heute|inzwischen|seitdem"
    r"|maintenant|desormais|depuis|ahora|hoy|теперь|сейчас|ora|adesso|agora|nu|teraz|nyni|simdi)(?!\w)"
)


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


BEFORE = 110
AFTER = 70
_BREAK = re.compile(
    r"[.;!?()\[\]{}|。；、:\n]|,(?!\s*(?:dass|que|what|that|что|чтобы)\b)|\s-\s|=>|->"
    r"|\b(?:but|however|sondern|aber|jedoch|mais|sino|pero)\b|而是|但|が、|\sа\s"
)
_SENTENCE = re.compile(r"(?<!\bno)[.!?;](?=[\s\"')\]]|$)|[。！？；\n]|\.\.\.")


def sentence_before(sketch: str, place: int) -> str:
    """What stands before a value in its sentence, back to the value before it."""
    before = sketch[max(0, place - BEFORE) : place]
    before = before[before.rfind(MARK) + 1 :]
    return before[_last_end(_SENTENCE, before) :]


def clause_before(sketch: str, place: int) -> str:
    """What stands before a value in its clause, back to the value before it."""
    before = sketch[max(0, place - BEFORE) : place]
    before = before[before.rfind(MARK) + 1 :]
    return before[_last_end(_BREAK, before) :]


def before_next(text: str) -> str:
    """A piece of a sketch up to its first value."""
    return text.partition(MARK)[0]


def _last_end(pattern: re.Pattern[str], text: str) -> int:
    end = 0
    for found in pattern.finditer(text):
        end = found.end()
    return end


_READ = 2000


def declined_until(text: str) -> int | None:
    """Find where the last words end that decline to answer or say that the answer is not there."""
    ends = [found.end() for found in cue_pattern("refuse").finditer(text[:_READ])]
    first = refusal_end(text)
    if first is not None:
        ends.append(first)
    return max(ends, default=None)


# The words beside a value are familiar where they are the question's, the needle's, or those that every answer uses
# (`according to the text`, `the code is`). A strange word may be another way to say what was asked, or something else
# (`he grew up in M`, `the joining fee is M`, `quiet-haven: M`, `M, but that one is the neighbour's`): nobody can tell
# without knowing what words mean, so such a value is not read.
_AROUND = 160
_STEM = 6
_WORDING_BREAK = re.compile(
    r"[.!?;:(){}|\[\]](?=\s|$)|,(?!\d)|[(\[{}|\n。！？；，、：「」（）]|\s-\s|->|=>"
    r"|(?<!\w)(?:and|but|while|whereas|although|though|und|aber|sondern|et|mais|y|pero|sino|и|а|но|e)(?!\w)|但|而"
)
_WORDING_SENTENCE = re.compile(rf"[.!?](?=\s|$)|[;\n。！？；{MARK}]")
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
_WORDING_LIST = compiled(r"M[\"')*\s]*(?:[,;/|&+]\s*)?(?:(?:and|or|und|et|y|и|e)(?!\w)|和|与|、|と)?[\"'*\s]*(?=M)")
_WORD = re.compile(r"[^\W\d_\u2e80-\U0003ffff]{2,}|[\u3400-\u9fff\u30a0-\u30ff]")
_NUMBER = re.compile(r"\W*\d")
_WORDING_OTHER = re.compile(rf"[^{MARK}]")
_WORDING_READ = ("harmless", "retract", "reconsider", "tentative", "new_before", "either")
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
    joined = _WORDING_LIST.sub(lambda found: "~" * len(found[0]), _without_read(sketch))
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
    start = max((found.end() for found in _WORDING_BREAK.finditer(sketch, first, place)), default=first)
    after = sketch.find(MARK, place + 1, place + _AROUND)
    last = min(len(sketch), place + _AROUND) if after < 0 else after
    stop = _WORDING_BREAK.search(sketch, place + 1, last)
    return start, stop.start() if stop else last


def _label(sketch: str, place: int) -> str:
    """What stands before a value that stands alone: `the north gate: M`, `north gate (M)`, `| north gate | M |`."""
    first = max(0, place - _AROUND)
    start = max((found.end() for found in _WORDING_SENTENCE.finditer(sketch, first, place)), default=first)
    label = _LABELLED.search(sketch, start, place)
    pieces = [piece for piece in _WORDING_BREAK.split(sketch[start : label.start()]) if piece.strip()] if label else []
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
    return any_of(_WORDING_READ).sub(_blank, sketch)


def _blank(found: re.Match[str]) -> str:
    return _WORDING_OTHER.sub("~", found[0])


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
