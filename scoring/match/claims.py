"""What an answer says of its values: denials, corrections, conclusions, refusals, and whose a value is.

A text is read as a sketch: folded, with `MARK` in place of every value. All languages are looked for at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from needlework.scoring.match.folding import fold
from needlework.scoring.match.values import Claim, Mention
from needlework.scoring.match.words import MARK, phrases, split_words, tables, words_of
from needlework.scoring.plain_text import CJK

_CLOSE = r"[\"')\]}*$ ]*"
_BETWEEN = r"(?:(?!(?:and|but|und|aber|et|mais|y|pero|и|но|а)\s)[^.,;:!?()、。，\nM-]){0,50}?"
_WHICH = r"(?:which|that|who|der|die|das|que|qui|котор\w+)"
_AFTER = (
    rf"{_CLOSE}(?:(?:, |- )(?![^.,;!?M]{{0,40}}M|(?:not|nicht|pas|no|non|не) \w)"
    rf"|(?:,? ?{_WHICH} |\()?{_BETWEEN})%s(?! only| just|\W*M)"
)
_BESIDE = r"%s(?: (?:the|a|an|le|la|el|der|die|das|den|code|number|value|about))*\W*$"
# The first of two values was replaced: `A -> B`, `was A, now B`; `from A to B`.
_REPLACED = rf"{_CLOSE}(?:\([^)M]*\) ?)?(?:(?:->|=>){_CLOSE}M|[^!?M]{{0,40}}?%s[^.!?M]{{0,20}}M)"
_FROM = re.compile(
    rf"(?:(?<!\w)(?:from|von|vom|de|del|desde|с|со)|[由从])\W*{MARK}(?:[^.;!?{MARK}]{{0,30}}?"
    rf"(?<!\w)(?:to|auf|zu|a|en|на)(?!\w)|[改变换到]\w?|->)[^.;!?{MARK}]{{0,12}}{MARK}"
)
_BREAK = re.compile(
    r"(?<!not)[.;!?()\[\]{}|。；、:\n](?!\d)|,(?! (?:dass|que|what|that|что|namely|namlich)\b)|\s-\s|=>|->|，"
    r"|(?<!thing )(?<!\ball )\b(?:but|however|while|whereas|although|because|sondern|aber|jedoch|mais|sino|pero|so)\b"
    r"|而是|但|が、|\sа\s"
)
_SENTENCE = re.compile(r"[.!?;](?=[\s\"')\]]|$)|[。！？；\n]|\.\.\.")
_BUT = re.compile(r"\)|->|=>|(?<!thing )(?<!\w)(?:but|sondern|mais|sino|pero|а)(?!\w)|而是")
_LIST = re.compile(
    r"[\"')*\s]*(?:,\s*)?(?:,|/|nor|or|and|noch|und|oder|ni|ou|et|y|o|ни|и|или|和|或者?|与|または|や|と)?[\"'(*\s]*"
)
_OR = (
    r"(?:,? ?(?<!\w)(?:or(?: maybe| perhaps| was it| is it)?|unless it's|maybe|possibly|oder|ou|soit|o|или|либо)"
    r"(?: maybe| perhaps| the)?(?!\w)|/|或者?|还是|または|[。,]?也可能是|かもしれませんが、|か)"
)
_EITHER = re.compile(rf"[\"')(*\s?]*(?:,|\.)?\s*{_OR}[\"'(*\s]*(?:could also be )?")
_CODE = r"(?:[a-z]{1,4}-?)?\d[\w-]*"
_BOUNDED = re.compile(rf"(?<!\w)(?:between|zwischen|entre) {MARK} (?:and|und|et|y) $")


def read_claims(
    lines: str, mentions: Sequence[Mention], named: Sequence[str], question: str, known: str
) -> list[Mention]:
    """The values of a folded text with what it says of each.

    `named`: a name each, alike for one value in several spellings; `known`: what words beside a value are familiar of.
    """
    pieces = [lines[one.span.end : other.span.start] for one, other in pairwise(mentions)]
    text = MARK.join([lines[: mentions[0].span.start], *pieces, lines[mentions[-1].span.end :]])
    sketch = _without_harmless(text, question)
    foreign = len({_language(sketch[:600]), _language(question), ""}) > 2
    numbers = [any(map(str.isdigit, each.value)) for each in mentions]
    places = [place for place, char in enumerate(sketch) if char == MARK]
    gaps = [sketch[one + 1 : other + 1] for one, other in pairwise([*places, len(sketch)])]
    claims: list[Claim] = []
    for rank, place in enumerate(places):
        linked = rank > 0 and claims[-1] != "given" and _LIST.fullmatch(gaps[rank - 1][:-1])
        if linked and gaps[rank - 1].strip(f" \"'{MARK}") not in (",", ""):
            claims.append(claims[-1])
        elif _is_denied(sketch, place) or (numbers[rank] and _is_bound(sketch, place)):
            claims.append("denied")
        else:
            other = not foreign and _is_of_another(sketch, place, question, by_name=numbers[rank])
            claims.append("other" if other and not mentions[rank].quoted else "given")
    moved = {found.start() + found[0].index(MARK) for found in _FROM.finditer(sketch)}
    for rank, place in enumerate(places):
        turned = phrases("back").search(gaps[rank])
        if rank + 1 == len(places):
            claims[rank] = "withdrawn" if turned and claims[rank] == "given" else claims[rank]
        elif named[rank] != named[rank + 1] and claims[rank + 1] in ("given", "other"):
            if turned or (claims[rank + 1] == "given" and phrases("then").search(gaps[rank])):
                for earlier in range(rank + 1):
                    if claims[earlier] == "given" and named[earlier] != named[rank + 1]:
                        claims[earlier] = "withdrawn"
            elif place in moved or phrases("now", pattern=_REPLACED).match(sketch, place + 1):
                claims[rank] = "denied"
    words = _familiar_words(known, with_tables=set(claims) > {"given"})
    given = [rank for rank, claim in enumerate(claims) if claim == "given"]
    for rank in given:
        if not (mentions[rank].quoted or (foreign and numbers[rank])) and _is_unfamiliar(sketch, places[rank], words):
            claims[rank] = "unfamiliar"
    for rank, after in pairwise([*given, -1]):
        others = {place: "~" if name == named[rank] else "0" for place, name in zip(places, named, strict=True)}
        text = "".join(others.get(place, char) for place, char in enumerate(sketch))
        if (numbers[rank] or claims[rank] == "given") and _is_one_of_two(text, places[rank]):
            claims[rank] = "listed"
        if after > 0 and named[rank] != named[after] and _is_list(sketch[places[rank] + 1 : places[after]]):
            for each in (rank, after):
                claims[each] = "listed" if numbers[each] or claims[each] == "given" else claims[each]
    return [replace(mention, claim=claim) for mention, claim in zip(mentions, claims, strict=True)]


def is_negated(text: str, start: int, end: int) -> bool:
    """Whether a text denies what stands from `start` to `end`."""
    before = fold(f"{text[max(0, start - 110) : start]}|")[:-1]
    sketch = _without_harmless(f"{before}{MARK}{fold(f'|{text[end : end + 70]}')[1:]}")
    return _is_denied(sketch, len(before))


def _without_harmless(sketch: str, asked: str = "") -> str:
    """Blank out phrases that deny nothing, as `no doubt`, and words of the question, as `the old mill`."""
    named = re.findall(r"(?<!\w)(?:the|der|die|das|den|le|la|el) (\w+)", asked)
    own = {word for word in named if phrases("before").fullmatch(word)}
    for pattern in (phrases("harmless"), *(re.compile(rf"(?<!\w){word}(?!\w)") for word in sorted(own))):
        sketch = pattern.sub(lambda found: re.sub(rf"[^{MARK}]", "~", found[0]), sketch)
    return sketch


def _is_denied(sketch: str, place: int) -> bool:
    clause = _before(sketch, place, _BREAK)
    named = (
        clause if clause.strip(" \"'*") else phrases("back").sub("", _BUT.split(_before(sketch, place, _SENTENCE))[-1])
    )
    return bool(
        phrases("before").search(named)
        or phrases("beside", pattern=_BESIDE).search(clause)
        or phrases("after", pattern=_AFTER).match(sketch, place + 1, place + 90)
    )


def _before(sketch: str, place: int, stop: re.Pattern[str]) -> str:
    """What stands before a value in its clause or sentence, back to the value before it."""
    before = sketch[max(0, place - 160) : place]
    before = before[before.rfind(MARK) + 1 :]
    if len(before) == 160:
        before = before.partition(" ")[2]
    return before[max((found.end() for found in stop.finditer(before)), default=0) :]


def _is_bound(sketch: str, place: int) -> bool:
    """Whether a number is only a bound: `more than V`, `between 7 and V`."""
    beside = phrases("bound", pattern=_BESIDE).search(_before(sketch, place, _BREAK))
    return bool(beside or _BOUNDED.search(sketch, max(0, place - 30), place))


def _is_one_of_two(sketch: str, place: int) -> bool:
    """Whether an `or` and another number or code stand beside a value: `12 or V`, `V or b3`."""
    either = rf"(?: ?[^\W\d_]{{1,6}})?(?:{_OR}|[到至])"
    before = re.search(rf"(?<!\w){_CODE}[\"')*\s]*{either}[\"'(*\s]*$", sketch[max(0, place - 60) : place])
    return bool(before or re.match(rf"[\"')*\s]*{either}[\"'(*\s]*{_CODE}", sketch[place + 1 : place + 61]))


def _is_list(between: str) -> bool:
    """Whether what stands between two values makes them a list, or alternatives: `A or B`, `A, B`."""
    return between == " " or bool(between.strip(" \"'()*") and (_EITHER.fullmatch(between) or _LIST.fullmatch(between)))


# Whose a value is: names are compared with the question's words, but for an ending; words of every answer name nothing.
_WORD = re.compile(r"[a-zа-я][a-zа-я'-]+")
_FOR = r"(?:for|of|under|with|to(?= the | an? )|fur|von|zu[mr]?|des|pour|du|de|del|para|для|у|к)"
_NAME = r"(?:(?:the|an?|der|die|das|den|le|la|les|el|los|las|your|its) |l')?((?:[a-zа-я][\w'-]* ?){1,4})"
_OWNERS_BEFORE = (
    re.compile(rf"(?<!\w)(?:{_FOR} |d'(?!apres)){_NAME}"),
    re.compile(
        r"((?:[a-zа-я][\w-]* ){0,2}(?!it|that|there|here|what|who|she|he|let)[a-zа-я][\w-]*)'s "
        r"(?:\w+ ){0,3}(?:is|was|ist)?\W*$"
    ),
    re.compile(rf"^\W*{_NAME}(?:has|had|got|uses?|gets?|reads|hat|tiene)(?: the| code| number| value)*\W*$"),
)
_LABEL = re.compile(r"(?:^|[|\n*]|- )((?:[a-zа-я][\w'-]* ?){1,3})\W*(?:[:=|(]|->|=>| - )[^\w\n]*$")
_NAME_END = re.compile(r"\b(?:and|but|not|in|is|was|und|nicht|et|y|on|at|that|which)\b")
_SIGNS = " \"'*$"
_PUNCT = r"[\"')\]}*\s,，]*"
_OWNER_AFTER = re.compile(
    rf"{_PUNCT}(?:\(|(?:which |that |it |and |and it )?(?:is|was|belongs|goes|ist|gehort|est|es|appartient"
    rf"|pertenece|refers|applies|opens|относится|принадлежит)"
    rf"(?: \w+){{0,4}}? )?(?<!\w)(?:(?:{_FOR}|to) |d'(?!apres)){_NAME}"
    rf"|{_PUNCT}[(\[]{_NAME}[)\]]|{_PUNCT}\(?(?:is|was) (?:the )?{_NAME}'s?(?!\w)"
)
_HAN_OWNER = re.compile(
    rf"([{CJK}]{{1,12}})[的の][^的の，。、{MARK}]{{0,10}}$|([{CJK}]{{1,12}}?)(?:さん)?(?:[:：是]|が)$"
)
_HAN_OWNER_AFTER = re.compile(rf"[^，。、{MARK}]{{0,6}}?(?:は|是|属于|属於)([{CJK}]{{1,12}}?)(?:さん)?(?:[的の]|$)()")
_AND = re.compile(r"\s(?:and|und|et|y|и)\s")


def _is_of_another(sketch: str, place: int, question: str, *, by_name: bool) -> bool:
    """Whether the words beside a value say that it is another key's than the one asked for."""
    if phrases("other").search(_before(sketch, place, _SENTENCE)) and not phrases("other").search(question):
        return True
    if not by_name or not phrases("code").search(question):
        return False
    after = sketch[place + 1 : place + 70].partition(MARK)[0]
    after = after[:2] + re.split(r"[.;!?\n](?!\d)|[,，。、] ?(?!\()", after[2:])[0]
    before, label = _before(sketch, place, _BREAK), ""
    if not before.strip(_SIGNS):
        label = _label(sketch, place)
        before = phrases("back").sub("", _before(sketch, place, _SENTENCE).rpartition(")")[2])
    if sketch[max(0, place - len(before) - 1)] == MARK:
        before = _AND.split(before)[-1]
    han = _HAN_OWNER.search(before if before.strip(_SIGNS) else label) or _HAN_OWNER_AFTER.match(after)
    if han:
        name, key = (
            (han[1] or han[2]).lstrip(tables()["zh"]["neutral"]),
            re.search(rf"([{CJK}]{{2,12}})[的の]", question),
        )
        return bool(key and name and key[1] not in name and name not in question)
    asked = _familiar_words(question) - words_of("neutral")
    behind, labelled = _OWNER_AFTER.match(after), _LABEL.search(label)
    named = [found[1] for pattern in _OWNERS_BEFORE for found in pattern.finditer(before)]
    named += [name for name in behind.groups() if name] if behind else []
    if labelled and len(_WORD.findall(labelled[1])) >= min(2, len(asked)):
        named.append(labelled[1])
    for name in named:
        spelled = [word for word in _WORD.findall(_NAME_END.split(name)[0]) if word not in words_of("neutral")]
        known = sum(_is_known(word, asked) for word in spelled)
        if known < min(2, len(spelled)):
            return True
    return False


def _label(sketch: str, place: int) -> str:
    label = sketch[max(sketch.rfind(sign, 0, place) for sign in f"\n.;{MARK}") + 1 : place][-60:]
    return label if re.search(r"[:=|(\[>-][^\w\n]*$", label) else ""


def _is_known(word: str, known: frozenset[str]) -> bool:
    """Whether a word is one of those that are known, but for an ending."""
    return word in known or any(_is_same(word, other) for other in known)


def _is_same(word: str, other: str) -> bool:
    word, other = word.removesuffix("'s"), other.removesuffix("'s")
    same = min(len(word), len(other), max(4, min(len(word), len(other)) - 2))
    return word == other or (same >= 4 and word[:same] == other[:same] and abs(len(word) - len(other)) <= 4)


@lru_cache(1024)
def _language(text: str) -> str:
    """The language of a folded text by its commonest words, or its script; empty where it has none of them."""
    words = ["han" if word > "\u3000" else "cyrillic" if word >= "а" else word for word in split_words(text)]
    common = {name: table["common"].split() for name, table in tables().items() if "common" in table}
    count = {name: sum(word in row for word in words) for name, row in common.items()}
    return max(count, key=count.__getitem__) if any(count.values()) else ""


# What is said of a value behind it: `V (...)`, `V. That is ...`, `V, but ...`.
_THIS = r"that|this|it|which|who|what|there|c'est|das|dies\w*|esto|eso|это|там"
_REMARKS = (
    re.compile(
        rf"[^\w{MARK}]*(?:(?:and|but|yet|hmm+|though|und|aber|et|mais|y|pero|и|но)[\s,]+)*(?:{_THIS})"
        rf"(?: one| number| value| code)?(?:'s| is| was| has| goes| belongs| refers)(?!\w)"
        rf"(?! (?:\w+ly )?(?:in|at|near|on|found|mentioned|stated|located|hidden|given)\b)([^.!?;\n{MARK}]*)"
    ),
    re.compile(
        rf"[^.!?;\n{MARK}]{{0,70}}?"
        rf"(?:(?<!\w)(?:but|though|although|however|yet|aber|jedoch|mais|pero|но)(?!\w))([^.!?;\n{MARK}]*)"
    ),
    re.compile(rf"[\"'*]*(?: -|:) ([^.!?;,\n{MARK}(]*)"),
)
_RATE = re.compile(r"\W*(?:per|a|each|every|pro|par|por|im|al) ([^\W\d_]+)")


@lru_cache(1024)
def _familiar_words(text: str, *, with_tables: bool = False) -> frozenset[str]:
    """The words of a folded question or needle, and those that may stand for them; none where none tells anything."""
    words = frozenset(split_words(text))
    if not words - words_of("neutral"):
        return frozenset()
    groups = (row.split() for table in tables().values() for row in table.get("alike", "").split("|"))
    return words.union(*(group for group in groups if words.intersection(group)), words_of() if with_tables else ())


def _is_unfamiliar(sketch: str, place: int, known: frozenset[str]) -> bool:
    """Whether words stand beside a value that are not known, nor used by every answer.

    They may be another way to say what was asked, or something else (`he grew up in V`, `the joining fee is V`).
    """
    if not known:
        return False
    clause = _AND.split(_before(sketch, place, _BREAK))[-1]
    after = re.split(rf"[.;!?()\n:,](?!\d)|[。、]|{_AND.pattern}", sketch[place + 1 : place + 90].partition(MARK)[0])[0]
    remarks = (pattern.match(sketch, place + 1 + len(after)) for pattern in _REMARKS)
    text = " ".join(
        [clause if clause.strip() else _label(sketch, place), after, *(found[1] for found in remarks if found)]
    )
    beside = split_words(phrases("then").sub("", phrases("back").sub("", text)))
    if all(word < "\u3000" for word in known):
        beside = [word for word in beside if word < "\u3000"]
    rate = _RATE.match(after)
    return bool(rate and rate[1] not in known) or any(
        word.removesuffix("'s") not in words_of("neutral", "units", "months") and not _is_known(word, known)
        for word in beside
    )
