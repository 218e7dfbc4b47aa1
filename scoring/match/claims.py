"""What an answer says of its values: denials, corrections, refusals, conclusions.

A text is read as a sketch: folded, with `MARK` in place of every value. All languages are looked for at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from needlework.scoring.match.folding import MARK, fold, strip_accents
from needlework.scoring.plain_text import Span

Claim = Literal["given", "denied", "withdrawn", "other"]
LONG, CLOSING = 1000, 300
"""From how many letters on an answer is long, and how many at its end count."""
_UNSPACED = ("zh", "ja")
_READ = 2000


@cache
def tables() -> Mapping[str, Mapping[str, str]]:
    """The tables of `words.toml`: language to kind to phrases."""
    return tomllib.loads(strip_accents(files("needlework.scoring.match").joinpath("words.toml").read_text("utf-8")))


@cache
def words(kind: str, *, pattern: str = "%s") -> re.Pattern[str]:
    """The phrases of one kind in every language, as the `%s` of a pattern; M stands for a value."""
    phrases = {name: table[kind].replace("\n", "") for name, table in tables().items() if table.get(kind)}
    spaced = "|".join(row for name, row in phrases.items() if name not in _UNSPACED)
    unspaced = "|".join(row for name, row in phrases.items() if name in _UNSPACED)
    either = rf"(?:(?<!\w)(?:{spaced})(?!\w)|{unspaced})" if unspaced else rf"(?<!\w)(?:{spaced})(?!\w)"
    return re.compile((pattern % either).replace("M", MARK))


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
_CONFIRMS = re.compile(r"\b(?:is|was|that's) (?:indeed )?(?:right|correct|it)\b|\byes\b|confirm|没错|正确")
_BREAK = re.compile(
    r"(?<!not)[.;!?()\[\]{}|。；、:\n](?!\d)|,(?! (?:dass|que|what|that|что|namely|namlich)\b)|\s-\s|=>|->|，"
    r"|(?<!thing )(?<!\ball )\b(?:but|however|while|whereas|although|because|sondern|aber|jedoch|mais|sino|pero|so)\b"
    r"|而是|但|が、|\sа\s"
)
_SENTENCE = re.compile(r"[.!?;](?=[\s\"')\]]|$)|[。！？；\n]|\.\.\.")
_LIST = re.compile(
    r"[\"')*\s]*(?:,\s*)?(?:,|/|nor|or|and|noch|und|oder|ni|ou|et|y|o|ни|и|или|和|或者?|与|または|や|と)?[\"'(*\s]*"
)
_OR = (
    r"(?:,? ?(?<!\w)(?:or(?: maybe| perhaps| was it| is it)?|unless it's|maybe|possibly|oder|ou|soit|o|или|либо)"
    r"(?: maybe| perhaps| the)?"
    r"(?!\w)|/|或者?|还是|または|[。,]?也可能是|かもしれませんが、|か)"
)
_EITHER = re.compile(rf"[\"')(*\s?]*(?:,|\.)?\s*{_OR}[\"'(*\s]*(?:could also be )?")
_HARSH = re.compile(r"\b(?:wrong|false|incorrect|untrue|old|older|former|previous|first|original|initial)\b")


def read_claims(
    sketch: str, values: Sequence[int], owners: Sequence[str], asked: frozenset[str] = frozenset()
) -> list[Claim]:
    """What a sketch says of each of its values.

    `values`: a number each, alike for one value; `owners`: see `owners.owner`; `asked`: words of the asked key, which
    deny nothing (`the false beacon`).
    """
    sketch = _HARSH.sub(lambda found: "~" * len(found[0]) if found[0] in asked else found[0], sketch)
    places = [place for place, char in enumerate(sketch) if char == MARK]
    claims: list[Claim] = []
    for rank, place in enumerate(places):
        gap = sketch[places[rank - 1] + 1 : place] if rank else ""
        linked = rank > 0 and _LIST.fullmatch(gap) and gap.strip(" \"'") not in (",", "")
        denied = claims[-1] == "denied" if linked and claims[-1] == "denied" else _is_denied(sketch, place)
        claims.append("denied" if denied else "other" if owners[rank] == "other" else "given")
    moved = {found.start() + found[0].index(MARK) for found in _FROM.finditer(sketch)}
    for rank, place in enumerate(places):
        last = rank + 1 == len(places)
        gap = sketch[place + 1 : len(sketch) if last else places[rank + 1] + 1]
        turned = words("back").search(gap)
        if last:
            if turned and not _CONFIRMS.search(gap, turned.end()) and claims[rank] == "given":
                claims[rank] = "withdrawn"
        elif values[rank] != values[rank + 1] and claims[rank + 1] in ("given", "other"):
            if turned or (claims[rank + 1] == "given" and words("then").search(gap)):
                claims[: rank + 1] = [
                    "withdrawn" if claim == "given" and value != values[rank + 1] else claim
                    for claim, value in zip(claims[: rank + 1], values, strict=False)
                ]
            elif place in moved or words("now", pattern=_REPLACED).match(sketch, place + 1):
                claims[rank] = "denied"
    return claims


def is_negated(text: str, start: int, end: int) -> bool:
    """Whether a text denies what stands from `start` to `end`."""
    ahead = fold(f"{text[max(0, start - 110) : start]}|")[:-1]
    sketch = without_harmless(f"{ahead}{MARK}{fold(f'|{text[end : end + 70]}')[1:]}")
    return _is_denied(sketch, len(ahead))


def without_harmless(sketch: str) -> str:
    """Blank out phrases that deny nothing, as `no doubt`; every value keeps its place."""
    return words("harmless").sub(lambda found: re.sub(rf"[^{MARK}]", "~", found[0]), sketch)


def _is_denied(sketch: str, place: int) -> bool:
    clause = clause_before(sketch, place)
    sentence = re.split(
        r"\)|->|=>|(?<!thing )(?<!\w)(?:but|sondern|mais|sino|pero|а)(?!\w)|而是", sentence_before(sketch, place)
    )[-1]
    named = clause if clause.strip(" \"'*") else words("back").sub("", sentence)
    return bool(
        words("before").search(named)
        or words("beside", pattern=_BESIDE).search(clause)
        or words("after", pattern=_AFTER).match(sketch, place + 1, place + 90)
    )


def clause_before(sketch: str, place: int) -> str:
    """What stands before a value in its clause, back to the value before it."""
    return _before(sketch, place, _BREAK)


def sentence_before(sketch: str, place: int) -> str:
    """What stands before a value in its sentence, back to the value before it."""
    return _before(sketch, place, _SENTENCE)


def _before(sketch: str, place: int, stop: re.Pattern[str]) -> str:
    before = sketch[max(0, place - 160) : place]
    before = before[before.rfind(MARK) + 1 :]
    if len(before) == 160:
        before = before.partition(" ")[2]
    return before[max((found.end() for found in stop.finditer(before)), default=0) :]


def is_bound(sketch: str, place: int) -> bool:
    """Whether a number is only a bound: `more than V`, `between 7 and V`."""
    between = re.compile(rf"(?<!\w)(?:between|zwischen|entre) {MARK} (?:and|und|et|y) $")
    beside = words("bound", pattern=_BESIDE).search(clause_before(sketch, place))
    return bool(beside or between.search(sketch, max(0, place - 30), place))


def is_one_of_two(text: str, start: int, end: int) -> bool:
    """Whether an `or` and another number or code stand beside a value: `12 or V`, `V or b3`."""
    code, near = r"(?:[a-z]{1,4}-?)?\d[\w-]*", r"(?: ?[^\W\d_]{1,6})?"
    either = rf"{near}(?:{_OR}|[到至])"
    before = re.search(rf"(?<!\w){code}[\"')*\s]*{either}[\"'(*\s]*$", text[max(0, start - 60) : start])
    return bool(before or re.match(rf"[\"')*\s]*{either}[\"'(*\s]*{code}", text[end : end + 60]))


def is_list(between: str) -> bool:
    """Whether what stands between two values makes them a list, or alternatives: `A or B`, `A, B`."""
    return between == " " or bool(between.strip(" \"'()*") and (_EITHER.fullmatch(between) or _LIST.fullmatch(between)))


_REFUSAL_WORD = re.compile(
    r"\W*(?:unknown|n/?a|none|nothing|not (?:stated|sure|given|available|clear)|no answer|no idea|未知|不详|暂无|无)\W*"
)


def refusal_end(text: str) -> int | None:
    """Where the last words end that decline to answer or say that the answer is not there; of a folded text."""
    if _REFUSAL_WORD.fullmatch(text[:_READ]):
        return len(text)
    return max((found.end() for found in words("refused").finditer(text[:_READ])), default=None)


def is_refusal(text: str) -> bool:
    """Whether a folded text declines to answer or says that the answer is not there."""
    return refusal_end(text) is not None


def weight(text: str) -> int:
    """A text's length in letters of an alphabet: a Chinese character says as much as three."""
    return len(text) if text.isascii() else len(text) + 2 * sum(char >= "\u2e80" for char in text)


_SENTENCE_END = re.compile(r"(?:[.!?](?=\s|$)|[。！？!?\n])[\"')\]]*")


def first_sentence(lines: str) -> Span:
    """The first sentence or line of a text."""
    match = _SENTENCE_END.search(lines)
    return Span(0, match.end() if match else len(lines))


def conclusion(lines: str) -> Span | None:
    """The last sentence or line, if it is one that concludes (`so the answer is ...`, `因此...`)."""
    last = next((place for place in range(len(lines) - 1, -1, -1) if lines[place].isalnum()), 0)
    start = max((found.end() for found in _SENTENCE_END.finditer(lines, 0, last)), default=0)
    return Span(start, len(lines)) if words("hence").search(lines, start) else None


_NEXT = re.compile(
    r"(?:\n\s*|(?<=[\w.!?。\"'*] ))(?:q(?:uestion)?|user|human|frage|pregunta|вопрос|问题|質問)\s*\d*\s*[:：]"
    r"|\n\s*(?:passage|document|context|instruction|input|問|问)\s*\d*\s*[:：.]"
)


def without_next_turn(lines: str) -> str:
    """What stands before a further question that a model asks itself, where an answer stands before it."""
    turn = _NEXT.search(lines, 1)
    before = lines[: turn.start()] if turn else ""
    return before if any(char.isalnum() for char in before) and weight(before) <= LONG else lines


def split_at_question(lines: str, question: str) -> tuple[str, str] | None:
    """What stands before the last repetition of a question in an answer, and what follows; `None`: it has none.

    Only a real question counts: what a base model is asked to go on with (`The code is`) belongs to the answer.
    """
    wanted = question.strip(" \"'.,:;。：；")
    at = lines.replace("\n", " ").rfind(wanted) if len(wanted) >= 8 and ("?" in wanted or "？" in wanted) else -1
    return None if at < 0 else (lines[:at], lines[at + len(wanted) :].lstrip(" \"'.,:;。：；_\n"))
