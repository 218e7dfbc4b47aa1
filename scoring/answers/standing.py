"""What an answer says of each value in it: that it is so, that it is not, that it was, or that it is something else's.

The text is a sketch (`cues`): every value is one `MARK`. Each value is read in its clause; then corrections take back
what stands before them (`corrections`).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from needlework.scoring.answers.clauses import AFTER, BEFORE, clause_before, sentence_before
from needlework.scoring.answers.cues import compiled, cue_pattern, has_any
from needlework.scoring.answers.folding import MARK, fold
from needlework.scoring.answers.polarity import is_denied

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
