"""What an answer says of its values: denials, corrections, lists, unknown words, and whose a value is.

A text is read as a sketch: folded, with `MARK` in place of every value. All languages are looked for at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from needlework.scoring.folding import fold_lines
from needlework.scoring.match.values import Claim, Mention
from needlework.scoring.match.words import MARK, phrases, split_words, tables, words_of
from needlework.scoring.plain_text import CJK

_CLOSE = r"[\"')\]}*$ ]*"
_BETWEEN = r"(?:(?!(?:and|but|und|aber|et|mais|y|pero|и|но|а)\s)[^.,;:!?()、。，\nM-]){0,50}?"
_AFTER = (
    rf"{_CLOSE}(?:(?:, |- )(?![^.,;!?M]{{0,40}}M|(?:not|nicht|pas|no|non|не) \w)"
    rf"|\(?{_BETWEEN})%s(?! only| just|\W*M)"
)
_BESIDE = r"%s(?: (?:the|a|an|le|la|el|der|die|das|den|code|number|value|about))*\W*$"
# The first of two values was replaced: `from A to B`, `A -> B`, `was A, now B`.
_FROM = re.compile(r"(?:(?<!\w)(?:from|vo[nm]|del?|desde|со?)|[由从])\W*$")
_TO = re.compile(rf"(?:[^.;!?{MARK}]{{0,30}}?(?<!\w)(?:to|auf|zu|a|en|на)(?!\w)|[改变换到])[^.;!?{MARK}]{{0,12}}{MARK}")
_REPLACED = rf"{_CLOSE}(?:\([^)M]*\) ?)?(?:(?:->|=>){_CLOSE}M|[^!?M]{{0,40}}?%s[^.!?M]{{0,20}}M)"
_CLAUSE = re.compile(
    r"(?<!not)[.;!?()\[\]{}|。；、:\n](?!\d)|,(?! (?:dass|que|what|that|что|namely|namlich)\b)|\s-\s|=>|->|，"
    r"|(?<!thing )(?<!\ball )\b(?:but|however|while|whereas|although|because|sondern|aber|jedoch|mais|sino|pero|so)\b"
    r"|而是|但|が、|\sа\s"
)
_SENTENCE = re.compile(r"[.!?;](?=[\s\"')\]]|$)|[。！？；\n]|\.\.\.")
_BUT = re.compile(r"\)|->|=>|(?<!thing )(?<!\w)(?:but|sondern|mais|sino|pero|а)(?!\w)|而是")
_AND = re.compile(r"\s(?:and|und|et|y|и)\s")
_LIST = re.compile(
    r"[\"')*\s]*(?:,\s*)?(?:,|/|nor|or|and|noch|und|oder|ni|ou|et|y|o|ни|и|или|和|或者?|与|または|や|と)?[\"'(*\s]*"
)
_OR = (
    r"(?: ?[^\W\d_]{1,6})?(?:,? ?(?<!\w)(?:or(?: maybe| perhaps| was it| is it)?|unless it's|maybe|possibly|oder|ou"
    r"|soit|o|или|либо)(?: maybe| perhaps| the)?(?!\w)|/|或者?|还是|または|[。,]?也可能是|かもしれませんが、|か|[到至])"
)
_CODE = r"(?:[a-z]{1,4}-?)?\d[\w-]*"
_BEFORE_OR = re.compile(rf"(?<!\w){_CODE}[\"')*\s]*{_OR}[\"'(*\s]*$")
_OR_AFTER = re.compile(rf"[\"')*\s]*{_OR}[\"'(*\s]*{_CODE}")


@dataclass(frozen=True, slots=True)
class _Sketch:
    """A text with its values: where they stand, which are alike (`names`), which have digits."""

    text: str
    places: tuple[int, ...]
    names: Sequence[str]
    numbers: Sequence[bool]

    def between(self, rank: int) -> str:
        """What stands between a value and the next one, that one's mark included."""
        return self.text[self.places[rank] + 1 : [*self.places, len(self.text)][rank + 1] + 1]


def read_claims(
    lines: str, mentions: Sequence[Mention], names: Sequence[str], question: str, known: str
) -> list[Mention]:
    """The values of a folded text with what it says of each.

    `names`: one each, alike for one value in several spellings; `known`: a text whose words are familiar.
    """
    pieces = [lines[one.span.end : other.span.start] for one, other in pairwise(mentions)]
    text = MARK.join([lines[: mentions[0].span.start], *pieces, lines[mentions[-1].span.end :]])
    text = _without_harmless(text, question)
    places = tuple(place for place, char in enumerate(text) if char == MARK)
    sketch = _Sketch(text, places, names, [any(map(str.isdigit, each.value)) for each in mentions])
    # An introduction may be in another language than the sentence with the value: `Here it is:\nDer Code ist 4712.`
    start = max(text.rfind(sign, 0, places[0]) for sign in "\n:.!?") + 1
    sentence = text[start : start + 600]
    language = _language(sentence if split_words(sentence) else text[:600])
    foreign = len({language, _language(question), ""}) > 2
    claims: list[Claim] = []
    for rank, place in enumerate(places):
        gap = sketch.between(rank - 1)[:-1] if rank else ""
        if rank and claims[-1] != "given" and _LIST.fullmatch(gap) and gap.strip(" \"'") not in ("", ","):
            claims.append(claims[-1])
        elif _is_denied(text, place) or (sketch.numbers[rank] and _is_bound(text, place)):
            claims.append("denied")
        elif (
            foreign or mentions[rank].quoted or not _is_of_another(text, place, question, by_name=sketch.numbers[rank])
        ):
            claims.append("given")
        else:
            claims.append("other")
    _take_back(sketch, claims)
    words = _familiar_words(known, with_tables=set(claims) > {"given"})
    given = [rank for rank, claim in enumerate(claims) if claim == "given"]
    for rank in given:
        exempt = mentions[rank].quoted or (foreign and sketch.numbers[rank])
        if not exempt and _is_unfamiliar(text, places[rank], words):
            claims[rank] = "unfamiliar"
    for rank in _listed(sketch, given):
        if sketch.numbers[rank] or claims[rank] == "given":
            claims[rank] = "listed"
    return [replace(mention, claim=claim) for mention, claim in zip(mentions, claims, strict=True)]


def _take_back(sketch: _Sketch, claims: list[Claim]) -> None:
    """Change the claims of values that a later one corrects or replaces."""
    for rank, place in enumerate(sketch.places):
        turned = phrases("back").search(sketch.between(rank))
        if rank + 1 == len(claims):
            claims[rank] = "withdrawn" if turned and claims[rank] == "given" else claims[rank]
        elif sketch.names[rank] != sketch.names[rank + 1] and claims[rank + 1] in ("given", "other"):
            if turned or (claims[rank + 1] == "given" and phrases("then").search(sketch.between(rank))):
                for earlier in range(rank + 1):
                    if claims[earlier] == "given" and sketch.names[earlier] != sketch.names[rank + 1]:
                        claims[earlier] = "withdrawn"
            elif phrases("now", pattern=_REPLACED).match(sketch.text, place + 1) or (
                _FROM.search(sketch.text[max(0, place - 20) : place]) and _TO.match(sketch.between(rank))
            ):
                claims[rank] = "denied"


def _listed(sketch: _Sketch, given: Sequence[int]) -> set[int]:
    """The values that stand beside another one as alternatives or in one list: `12 or V`, `V or b3`, `V, W`."""
    listed: set[int] = set()
    for rank, after in pairwise([*given, -1]):
        marks = dict(
            zip(sketch.places, ("~" if name == sketch.names[rank] else "0" for name in sketch.names), strict=True)
        )
        text = "".join(marks.get(place, char) for place, char in enumerate(sketch.text))
        place = sketch.places[rank]
        if _BEFORE_OR.search(text[max(0, place - 60) : place]) or _OR_AFTER.match(text[place + 1 : place + 61]):
            listed.add(rank)
        gap = sketch.text[place + 1 : sketch.places[after]]
        in_list = gap == " " or (gap.strip(" \"'()*") and _LIST.fullmatch(gap))
        if after > 0 and sketch.names[rank] != sketch.names[after] and in_list:
            listed |= {rank, after}
    return listed


def is_negated(text: str, start: int, end: int) -> bool:
    """Whether a text denies what stands from `start` to `end`."""
    before = fold_lines(f"{text[max(0, start - 110) : start]}|")[:-1]
    sketch = _without_harmless(f"{before}{MARK}{fold_lines(f'|{text[end : end + 70]}')[1:]}")
    return _is_denied(sketch, len(before))


def _without_harmless(sketch: str, asked: str = "") -> str:
    """Blank out phrases that deny nothing, as `no doubt`, and words of the question, as `the old mill`."""
    named = re.findall(r"(?<!\w)(?:the|der|die|das|den|le|la|el) (\w+)", asked)
    own = {word for word in named if phrases("before").fullmatch(word)}
    for pattern in (phrases("harmless"), *(re.compile(rf"(?<!\w){word}(?!\w)") for word in sorted(own))):
        sketch = pattern.sub(lambda found: re.sub(rf"[^{MARK}]", "~", found[0]), sketch)
    return sketch


def _is_denied(sketch: str, place: int) -> bool:
    clause, sentence = _before(sketch, place, _CLAUSE), _before(sketch, place, _SENTENCE)
    named = clause if clause.strip(" \"'*") else phrases("back").sub("", _BUT.split(sentence)[-1])
    return bool(
        phrases("before").search(named)
        or phrases("beside", pattern=_BESIDE).search(clause)
        or phrases("after", pattern=_AFTER).match(sketch, place + 1, place + 90)
    )


def _is_bound(sketch: str, place: int) -> bool:
    """Whether a number is only a bound: `more than V`."""
    return phrases("bound", pattern=_BESIDE).search(_before(sketch, place, _CLAUSE)) is not None


def _before(sketch: str, place: int, stop: re.Pattern[str]) -> str:
    """What stands before a value in its clause or sentence, back to the value before it."""
    before = sketch[max(0, place - 160) : place]
    before = before[before.rfind(MARK) + 1 :]
    return before[max((found.end() for found in stop.finditer(before)), default=0) :]


# Whose a value is: names are compared with the question's words, but for an ending; words of every answer name nothing.
_FOR = r"(?:for|of|under|with|to(?= the | an? )|fur|von|zu[mr]?|des|pour|du|de|del|para|для|у|к)"
_NAME = r"(?:(?:the|an?|der|die|das|den|le|la|les|el|los|las|your|its) |l')?((?:[a-zа-я][\w'-]* ?){1,4})"
_PUNCT = r"[\"')\]}*\s,，]*"
_OWNERS_BEFORE = (
    re.compile(rf"(?<!\w)(?:{_FOR} |d'(?!apres|\w+[eio]r )){_NAME}"),
    re.compile(
        r"((?:[a-zа-я][\w-]* ){0,2}(?!it|that|there|here|what|who|she|he|let)[a-zа-я][\w-]*)'s "
        r"(?:\w+ ){0,3}(?:is|was|ist)?\W*$"
    ),
    re.compile(rf"^\W*{_NAME}(?:has|had|got|uses?|gets?|reads|hat|tiene)(?: the| code| number| value)*\W*$"),
)
_OWNER_AFTER = re.compile(
    rf"{_PUNCT}(?:\(|(?:which |that |it |and |and it )?(?:is|was|belongs|goes|ist|gehort|est|es|appartient"
    rf"|pertenece|refers|applies|opens|относится|принадлежит)"
    rf"(?: \w+){{0,4}}? )?(?<!\w)(?:(?:{_FOR}|to) |d'(?!apres|\w+[eio]r )){_NAME}"
    rf"|{_PUNCT}[(\[]{_NAME}[)\]]|{_PUNCT}\(?(?:is|was) (?:the )?{_NAME}'s?(?!\w)"
)
_LABELLED = re.compile(r"(?:^|[|\n*]|- )((?:[a-zа-я][\w'-]* ?){1,3})\W*(?:[:=|(]|->|=>| - )[^\w\n]*$")
_HAN_OWNERS = (
    re.compile(rf"([{CJK}]{{1,12}})[的の][^的の，。、{MARK}]{{0,10}}$"),
    re.compile(rf"([{CJK}]{{1,12}}?)(?:さん)?(?:[:：是]|が)$"),
)
_HAN_OWNER_AFTER = re.compile(rf"[^，。、{MARK}]{{0,6}}?(?:は|是|属于|属於)([{CJK}]{{1,12}}?)(?:さん)?(?:[的の]|$)")


def _is_of_another(sketch: str, place: int, question: str, *, by_name: bool) -> bool:
    """Whether the words beside a value say that it is another key's than the one asked for."""
    if phrases("other").search(_before(sketch, place, _SENTENCE)) and not phrases("other").search(question):
        return True
    if not by_name or not phrases("code").search(question):
        return False
    after = sketch[place + 1 : place + 70].partition(MARK)[0]
    after = after[:2] + re.split(r"[.;!?\n](?!\d)|[,，。、] ?(?!\()", after[2:])[0]
    before, label = _before(sketch, place, _CLAUSE), ""
    if not before.strip(" \"'*$"):
        label = _label(sketch, place)
        before = phrases("back").sub("", _before(sketch, place, _SENTENCE).rpartition(")")[2])
    if sketch[max(0, place - len(before) - 1)] == MARK:
        before = _AND.split(before)[-1]
    found = [pattern.search(before if before.strip() else label) for pattern in _HAN_OWNERS]
    for han in filter(None, (*found, _HAN_OWNER_AFTER.match(after))):
        name, key = han[1].lstrip(tables()["zh"]["neutral"]), re.search(rf"([{CJK}]{{2,12}})[的の]", question)
        return bool(key and name and key[1] not in name and name not in question)
    asked = _familiar_words(question) - words_of("neutral")
    behind, labelled = _OWNER_AFTER.match(after), _LABELLED.search(label)
    named = [found[1] for pattern in _OWNERS_BEFORE for found in pattern.finditer(before)]
    named += [name for name in behind.groups() if name] if behind else []
    if labelled and len(split_words(labelled[1])) >= min(2, len(asked)):
        named.append(labelled[1])
    for name in named:
        spelled = [word for word in split_words(name) if word not in words_of("neutral")]
        if sum(_is_known(word, asked) for word in spelled) < min(2, len(spelled)):
            return True
    return False


def _label(sketch: str, place: int) -> str:
    label = sketch[max(sketch.rfind(sign, 0, place) for sign in f"\n.;{MARK}") + 1 : place][-60:]
    return label if re.search(r"[:=|(\[>-][^\w\n]*$", label) else ""


def _is_known(word: str, known: frozenset[str]) -> bool:
    """Whether a word is one of those that are known, but for an ending."""
    word = word.removesuffix("'s")
    return word in known or any(
        other.startswith(word[: max(4, min(len(word), len(other)) - 2)]) or (len(word) > 4 and other.endswith(word))
        for other in known
        if len(word) > 3
    )


@lru_cache(1024)
def _language(text: str) -> str:
    """The language of a folded text by its commonest words, or its script; empty where it has none of them."""
    words = ["han" if word > "\u3000" else "cyrillic" if word >= "а" else word for word in split_words(text)]
    common = {name: table["common"].split() for name, table in tables().items() if "common" in table}
    count = {name: sum(word in row for word in words) for name, row in common.items()}
    return max(count, key=count.__getitem__) if any(count.values()) else ""


@lru_cache(1024)
def _familiar_words(text: str, *, with_tables: bool = False) -> frozenset[str]:
    """The words of a folded question or needle, and those that may stand for them; none where none tells anything."""
    words = frozenset(split_words(text))
    if not words - words_of("neutral"):
        return frozenset()
    groups = (row.split() for table in tables().values() for row in table.get("alike", "").split("|"))
    return words.union(*(group for group in groups if words.intersection(group)), words_of() if with_tables else ())


# What is said of a value behind it: `V. That is ...`, `V, but ...`, `V - ...`.
_REMARKS = (
    re.compile(
        rf"[^\w{MARK}]*(?:(?:and|but|yet|hmm+|though|und|aber|et|mais|y|pero|и|но)[\s,]+)*"
        rf"(?:that|this|it|which|who|what|there|c'est|das|dies\w*|esto|eso|это|там)"
        rf"(?: one| number| value| code)?(?:'s| is| was| has| goes| belongs| refers)(?!\w)"
        rf"(?! (?:\w+ly )?(?:in|at|near|on|found|mentioned|stated|located|hidden|given)\b)([^.!?;\n{MARK}]*)"
    ),
    re.compile(
        rf"[^.!?;\n{MARK}]{{0,70}}?(?<!\w)(?:but|though|although|however|yet|aber|jedoch|mais|pero|но)(?!\w)"
        rf"([^.!?;\n{MARK}]*)"
    ),
    re.compile(rf"[\"'*]*(?: -|:) ([^.!?;,\n{MARK}(]*)"),
)
_RATE = re.compile(r"\W*(?:per|a|each|every|pro|par|por|im|al) ([^\W\d_]+)")


def _is_unfamiliar(sketch: str, place: int, known: frozenset[str]) -> bool:
    """Whether words stand beside a value that are not known, nor used by every answer.

    They may be another way to say what was asked, or something else (`he grew up in V`, `the joining fee is V`).
    """
    if not known:
        return False
    clause = _AND.split(_before(sketch, place, _CLAUSE))[-1]
    after = re.split(rf"[.;!?()\n:,](?!\d)|[。、]|{_AND.pattern}", sketch[place + 1 : place + 90].partition(MARK)[0])[0]
    remarks = (pattern.match(sketch, place + 1 + len(after)) for pattern in _REMARKS)
    text = " ".join([clause.strip() or _label(sketch, place), after, *(found[1] for found in remarks if found)])
    beside = split_words(phrases("then").sub("", phrases("back").sub("", text)))
    rate, usual = _RATE.match(after), words_of("neutral", "units", "months")
    return bool(rate and rate[1] not in known) or any(
        word.removesuffix("'s") not in usual and not _is_known(word, known) for word in beside
    )
