"""`documents`: does an answer to a question on documents say what the reference says? Words count, not strings.

It does where 0.3 of the reference's content words stand in the answer and the answer does not abstain: what agrees best
with judges (`content_words`). Beside that:

* clauses that say that the text is silent do not count: what stands beside them does (`it is not stated, but ... X`);
* a word that the question has too is no answer by itself (`the Nile river` to `which river?`);
* short numbers and dates have all their figures, and a longer answer has no others in place of the reference's;
* Chinese names of up to four characters stand whole;
* an answer that denies the reference's words is wrong;
* in a long answer (1000 letters) the first sentence and the end count: elsewhere the words were copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from needlework.scoring.answers.content_words import content_word_places, content_words
from needlework.scoring.answers.normalize import flatten, normalize_lines, normalize_value
from needlework.scoring.answers.passages import CLOSING, LONG, first_sentence, weight
from needlework.scoring.answers.polarity import is_refusal
from needlework.scoring.answers.standing import is_negated
from needlework.scoring.answers.values import Span, find_whole
from needlework.scoring.scorers.abstaining import abstain_score
from needlework.scoring.scores import Reference, Score, Scorer

RECALL = 0.3
_SHOWN = 160
_FEW_WORDS = 4
_SHORT_NAME = re.compile(r"[\u3400-\u9fff]{1,4}")
_CLAUSE = re.compile(
    r"(?<=[.!?;])\s+|[。！？；\n]|,?\s+\b(?:but|however|although|though|nevertheless|nonetheless)\b|但是?|不过|然而"
)
_NEGATIVE = re.compile(
    r"\b(?:no|not|never|none|nor|nothing|nobody|without|unable|fail\w*|lack\w*)\b|n't\b|[不没沒無无未非]"
)
_UNTIL = re.compile(r"(?:\bnot|n't) until\W+(?:\w+\W+){0,3}$")
_BRACKETS = re.compile(r"\(([^()]*)\)")
_PHRASES = ("not found", "没有提到")


@dataclass(frozen=True, slots=True)
class _Compared:
    """An answer beside one accepted answer. `recall`: 0..1. `missing`: words that it lacks. `fault`: why it is wrong
    whatever the recall, else empty."""

    recall: float
    missing: tuple[str, ...]
    fault: str

    @property
    def found(self) -> bool:
        """Whether the answer says it."""
        return not self.fault and self.recall >= RECALL


def documents_score(answer: str, reference: Reference) -> Score:
    """Judge one answer by its best of the accepted answers; where the answer is absent, abstaining is found.

    A reference without any answer raises `ValueError`.
    """
    if reference.absent:
        return abstain_score(answer, replace(reference, answers=_PHRASES, parts=(), distractors=(), statement=""))
    given = [value for value in map(normalize_value, reference.answers or reference.parts) if value]
    accepted = [spelling for value in given for spelling in _spellings(value)]
    if not accepted:
        raise ValueError("the reference has no answer to compare with")
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    asked = content_words(reference.question) if reference.question else frozenset[str]()
    best = max((_compare(lines, value, asked) for value in accepted), key=lambda each: (each.found, each.recall))
    details: dict[str, float | str | int | bool | None] = {
        "recall": round(best.recall, 4),
        "missing": ", ".join(best.missing),
    }
    told = flatten(lines)[:_SHOWN]
    if best.found:
        return Score(1.0, "found", told, f"has {best.recall:.0%} of the reference's words", details)
    if is_refusal(flatten(lines)):
        return Score(0.0, "refused", told, "declines to answer or says that it is not there", details)
    return Score(0.0, "wrong", told, best.fault or f"has {best.recall:.0%} of the reference's words", details)


DOCUMENTS = Scorer("documents", 4, documents_score)


def _compare(lines: str, value: str, asked: frozenset[str]) -> _Compared:
    """Compare an answer (from `normalize_lines`) with an accepted one; `asked`: the question's content words."""
    text = _stated(_outside_copies(lines), silent=is_refusal(value))
    wanted = content_words(value)
    places = [(word, span) for word, span in content_word_places(text) if word in wanted]
    if next(content_word_places(value), None) is None:  # `no`, `both`: the words that every text has
        places = [(value, span) for span in find_whole(text, value)]
        wanted = frozenset([value])
    had = {word for word, _ in places}
    missing = tuple(sorted(wanted - had))
    return _Compared(len(had) / len(wanted), missing, _fault(text, value, wanted, places, asked) if had else "")


def _fault(text: str, value: str, wanted: frozenset[str], places: list[tuple[str, Span]], asked: frozenset[str]) -> str:
    had = {word for word, _ in places}
    telling = wanted - asked or wanted
    if not had & telling:
        return "has only words of the question"
    lacking = _figures(wanted - had)
    others = _figures(word for word, _ in content_word_places(text)) - wanted - asked if lacking else lacking
    if lacking and (others or len(wanted) <= _FEW_WORDS):
        return f"lacks {', '.join(sorted(lacking))}" + (f", gives {', '.join(sorted(others))}" if others else "")
    if _SHORT_NAME.fullmatch(value) and not find_whole(text, value):
        return "has a part of the name"
    if not _NEGATIVE.search(value):
        affirmed = {word for word, span in places if not _denied(text, span)}
        if 2 * len((had & telling) - affirmed) >= len(had & telling):
            return "denies the reference"
    return ""


def _spellings(value: str) -> list[str]:
    """A value as it stands, and each side of one that is said again in brackets: `74°C (165°F)`."""
    sides = [_BRACKETS.sub(" ", value), *(match[1] for match in _BRACKETS.finditer(value))]
    twice = len(sides) > 1 and all(any(char.isdigit() for char in side) for side in sides)
    return [value, *sides] if twice and len(content_words(value)) <= _FEW_WORDS else [value]


def _figures(words: Iterable[str]) -> set[str]:
    return {word for word in words if any(char.isdigit() for char in word)}


def _denied(text: str, span: Span) -> bool:
    return is_negated(text, *span) and not _UNTIL.search(text[max(0, span.start - 40) : span.start])


def _stated(lines: str, *, silent: bool) -> str:
    """What an answer states: without the clauses that say that the text is `silent`, unless that is what is asked."""
    if silent or not is_refusal(flatten(lines)):
        return flatten(lines)
    return " ; ".join(clause for clause in _CLAUSE.split(lines) if clause.strip() and not is_refusal(flatten(clause)))


def _outside_copies(lines: str) -> str:
    if weight(lines) <= LONG:
        return lines
    first = first_sentence(lines).end
    return f"{lines[: min(first, CLOSING)]}\n{lines[max(first, len(lines) - CLOSING) :]}"
