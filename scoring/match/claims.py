"""Claims of an answer about its values: denials, corrections, alternatives, unknown words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise

from needlework.scoring.folding import MARK, fold_lines, phrases, split_words, tables, words_of
from needlework.scoring.match.values import Claim, Mention

_CLOSE = r"[\"')\]}*$ ]*"
_BETWEEN = r"(?:(?!(?:and|but|und|aber|et|mais|y|pero|и|но|а)\s)[^.,;:!?()、。，\nM-]){0,50}?"
_AFTER = (
    rf"{_CLOSE}(?:(?:, |- )(?![^.,;!?M]{{0,40}}M|(?:not|nicht|pas|no|non|не) \w)"
    rf"|\(?{_BETWEEN})%s(?! only| just|\W*M)"
)
_DIRECTLY_BEFORE = r"%s(?: (?:the|a|an|le|la|el|der|die|das|den|code|number|value|about))*\W*$"
# The first of two values was replaced: `A -> B`, `was A, now B`.
_REPLACED = rf"{_CLOSE}(?:\([^)M]*\) ?)?(?:(?:->|=>){_CLOSE}M|[^!?M]{{0,40}}?%s[^.!?M]{{0,20}}M)"
_CLAUSE_END = re.compile(
    r"(?<!not)[.;!?()\[\]{}|。；、:\n](?!\d)|,(?! (?:dass|que|what|that|что|namely|namlich)\b)|\s-\s|=>|->|，"
    r"|(?<!thing )(?<!\ball )\b(?:but|however|while|whereas|although|because|sondern|aber|jedoch|mais|sino|pero|so)\b"
    r"|而是|但|が、|\sа\s"
)
_SENTENCE_END = re.compile(r"[.!?;](?=[\s\"')\]]|$)|[。！？；\n]|\.\.\.")
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
# What is said of a value behind it: `V. That is ...`, `V, but ...`, `V (for ...`; not where it stands in the text.
_REMARK = re.compile(
    rf"[^\w~{MARK}]*(?:but|though|yet|which|that|this|it|is|was|for|aber|mais|pero|но)(?!\w)"
    r"(?!(?:'s| is| was)? (?:\w+ly )?(?:in|at|near|on|found|mentioned|stated|located|hidden|given)(?!\w))"
    rf"[^.!?;\n{MARK}]*"
)


@dataclass(frozen=True, slots=True)
class _Sketch:
    """A folded text with `MARK` for every value: positions, `names` (equal for one value), numerics."""

    text: str
    positions: tuple[int, ...]
    names: Sequence[str]
    numeric: Sequence[bool]

    def between(self, rank: int) -> str:
        """The text between a value and the next one, that one's mark included."""
        return self.text[self.positions[rank] + 1 : [*self.positions, len(self.text)][rank + 1] + 1]


def read_claims(
    lines: str, mentions: Sequence[Mention], names: Sequence[str], question: str, known: str
) -> list[Mention]:
    """The values of a folded text with what it says of each.

    `names`: one each, alike for one value in several spellings; `known`: a text whose words are familiar.
    """
    pieces = [lines[one.span.end : other.span.start] for one, other in pairwise(mentions)]
    text = MARK.join([lines[: mentions[0].span.start], *pieces, lines[mentions[-1].span.end :]])
    text = _mask_harmless(text, question)
    positions = tuple(position for position, char in enumerate(text) if char == MARK)
    sketch = _Sketch(text, positions, names, [any(map(str.isdigit, each.value)) for each in mentions])
    claims: list[Claim] = []
    for rank, position in enumerate(positions):
        gap = sketch.between(rank - 1)[:-1] if rank else ""
        if rank and claims[-1] != "given" and _LIST.fullmatch(gap) and gap.strip(" \"'") not in ("", ","):
            claims.append(claims[-1])
        else:
            claims.append("denied" if _is_denied(text, position, sketch.numeric[rank]) else "given")
    _apply_corrections(sketch, claims)
    words = _familiar_words(known, with_tables=set(claims) > {"given"})
    foreign = _is_foreign(text, positions[0], question)
    stated = [rank for rank, claim in enumerate(claims) if claim == "given"]
    for rank in stated:
        exempt = mentions[rank].quoted or (foreign and sketch.numeric[rank])
        # A wrong value in another thing's sentence (`Another town, Oslo, has V`) says nothing against the right one.
        stop = _SENTENCE_END if mentions[rank].kind == "distractor" else _CLAUSE_END
        if not exempt and _is_unfamiliar(text, positions[rank], words, stop):
            claims[rank] = "unfamiliar"
    for rank in _alternatives(sketch, stated):
        if sketch.numeric[rank] or claims[rank] == "given":
            claims[rank] = "listed"
    return [replace(mention, claim=claim) for mention, claim in zip(mentions, claims, strict=True)]


def is_negated(text: str, start: int, end: int) -> bool:
    """Whether a text denies what stands from `start` to `end`."""
    before = fold_lines(f"{text[max(0, start - 110) : start]}|")[:-1]
    sketch = _mask_harmless(f"{before}{MARK}{fold_lines(f'|{text[end : end + 70]}')[1:]}")
    return _is_denied(sketch, len(before))


def _apply_corrections(sketch: _Sketch, claims: list[Claim]) -> None:
    """Change the claims of values that a later one corrects or replaces."""
    for rank, position in enumerate(sketch.positions):
        turned = phrases("back").search(sketch.between(rank))
        if rank + 1 == len(claims):
            claims[rank] = "withdrawn" if turned and claims[rank] == "given" else claims[rank]
        elif sketch.names[rank] != sketch.names[rank + 1] and claims[rank + 1] == "given":
            if turned:
                for earlier in range(rank + 1):
                    if claims[earlier] == "given" and sketch.names[earlier] != sketch.names[rank + 1]:
                        claims[earlier] = "withdrawn"
            elif phrases("now", pattern=_REPLACED).match(sketch.text, position + 1):
                claims[rank] = "denied"


def _alternatives(sketch: _Sketch, stated: Sequence[int]) -> set[int]:
    """Values that stand beside another as alternatives or in one list: `12 or V`, `V or b3`, `V, W`."""
    listed: set[int] = set()
    for rank, after in pairwise([*stated, -1]):
        signs = iter("~" if name == sketch.names[rank] else "0" for name in sketch.names)
        text = "".join(next(signs) if char == MARK else char for char in sketch.text)
        position = sketch.positions[rank]
        before, behind = text[max(0, position - 60) : position], text[position + 1 : position + 61]
        if _BEFORE_OR.search(before) or _OR_AFTER.match(behind):
            listed.add(rank)
        gap = sketch.text[position + 1 : sketch.positions[after]]
        in_list = gap == " " or (gap.strip(" \"'()*") and _LIST.fullmatch(gap))
        if after > 0 and sketch.names[rank] != sketch.names[after] and in_list:
            listed |= {rank, after}
    return listed


def _mask_harmless(sketch: str, question: str = "") -> str:
    """Blank out phrases that deny nothing, as `no doubt`, and words of the question, as `the old mill`."""
    named = re.findall(r"(?<!\w)(?:the|der|die|das|den|le|la|el) (\w+)", question)
    of_question = {word for word in named if phrases("before").fullmatch(word)}
    for pattern in (phrases("harmless"), *(re.compile(rf"(?<!\w){word}(?!\w)") for word in sorted(of_question))):
        sketch = pattern.sub(lambda match: re.sub(rf"[^{MARK}]", "~", match[0]), sketch)
    return sketch


def _is_denied(sketch: str, position: int, numeric: bool = False) -> bool:
    """Whether the words around a value take it away; from a number also those of a bound: `more than V`."""
    clause = _text_before(sketch, position, _CLAUSE_END)
    sentence = _BUT.split(_text_before(sketch, position, _SENTENCE_END))[-1]
    return bool(
        phrases("before").search(clause if clause.strip(" \"'*") else phrases("back").sub("", sentence))
        or phrases("beside", pattern=_DIRECTLY_BEFORE).search(clause)
        or (numeric and phrases("bound", pattern=_DIRECTLY_BEFORE).search(clause))
        or phrases("after", pattern=_AFTER).match(sketch, position + 1, position + 90)
    )


def _text_before(sketch: str, position: int, stop: re.Pattern[str]) -> str:
    """The text before a value in its clause or sentence, back to the value before it."""
    before = sketch[max(0, position - 160) : position]
    before = before[before.rfind(MARK) + 1 :]
    return before[max((match.end() for match in stop.finditer(before)), default=0) :]


def _is_foreign(text: str, first: int, question: str) -> bool:
    """Whether the sentence with the first value is in another language than the question.

    An introduction may be in another language than that sentence: `Here it is:\\nDer Code ist 4712.`
    """
    start = max(text.rfind(sign, 0, first) for sign in "\n:.!?") + 1
    sentence = text[start : start + 600]
    return len({_language(sentence if split_words(sentence) else text[:600]), _language(question), ""}) > 2


@lru_cache(1024)
def _language(text: str) -> str:
    """The language of a folded text by its commonest words, or its script; empty if unknown."""
    words = ["han" if word > "\u3000" else "cyrillic" if word >= "а" else word for word in split_words(text)]
    common = {name: table["common"].split() for name, table in tables().items() if "common" in table}
    count = {name: sum(word in row for word in words) for name, row in common.items()}
    return max(count, key=count.__getitem__) if any(count.values()) else ""


@lru_cache(1024)
def _familiar_words(text: str, *, with_tables: bool = False) -> frozenset[str]:
    """The words of a folded question or needle and their synonyms; none if all are neutral."""
    words = frozenset(split_words(text))
    if not words - words_of("neutral"):
        return frozenset()
    groups = (group for group in _synonyms() if not words.isdisjoint(group))
    return words.union(*groups, words_of() if with_tables else ())


@cache
def _synonyms() -> tuple[frozenset[str], ...]:
    """Groups of words that may stand for each other."""
    rows = (row for table in tables().values() for row in table.get("alike", "").split("|"))
    return tuple(frozenset(row.split()) for row in rows)


def _is_unfamiliar(sketch: str, position: int, familiar: frozenset[str], stop: re.Pattern[str]) -> bool:
    """Whether words stand beside a value that are neither familiar nor used by every answer.

    They may be another way to say what was asked, or something else (`he grew up in V`, `the code for Oslo is V`).
    """
    if not familiar:
        return False
    clause = _AND.split(_text_before(sketch, position, stop))[-1]
    label = sketch[max(sketch.rfind(sign, 0, position) for sign in f"\n.;{MARK}") + 1 : position][-60:]
    if not clause.strip() and re.search(r"[:=|(\[>-][^\w\n]*$", label):
        clause = label
    rest = sketch[position + 1 : position + 90].partition(MARK)[0]
    after = re.split(rf"[.;!?()\n:,](?!\d)|[。、]|{_AND.pattern}", rest)[0]
    remark = _REMARK.match(sketch, position + 1 + len(after))
    text = phrases("back").sub("", f"{clause} {after} {remark[0] if remark else ''}")
    usual = words_of("neutral", "units", "months")
    beside = {word.removesuffix("'s") for word in split_words(text)}
    return any(word not in usual and not _is_known(word, familiar) for word in beside)


def _is_known(word: str, known: frozenset[str]) -> bool:
    """Whether a word is one of those that are known, but for an ending."""
    return word in known or any(
        other.startswith(word[: max(4, min(len(word), len(other)) - 2)]) or (len(word) > 4 and other.endswith(word))
        for other in known
        if len(word) > 3
    )
