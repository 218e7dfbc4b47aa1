"""Scorers of answers about documents, and of questions without an answer."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from needlework.scoring.match.claims import is_negated
from needlework.scoring.match.match import folded_value, match_score
from needlework.scoring.plain_text import (
    Span,
    content_word_places,
    content_words,
    find_whole,
    flatten,
    normalize_lines,
    normalize_value,
)
from needlework.scoring.reading import is_refusal, outside_copies
from needlework.scoring.scores import Details, Reference, Score, Scorer, rule

# It does where 0.3 of the reference's content words stand in the answer and the answer does not abstain: what agrees
# best with judges (`content_words`). Beside that:
#
# * clauses that say that the text is silent do not count: what stands beside them does (`it is not stated, but ... X`);
# * a word that the question has too is no answer by itself (`the Nile river` to `which river?`);
# * short numbers and dates have all their figures, and a longer answer has no others in place of the reference's;
# * Chinese names of up to four characters stand whole;
# * an answer that denies the reference's words is wrong;
# * in a long answer (1000 letters) the first sentence and the end count: elsewhere the words were copied.
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


def documents_score(answer: str, reference: Reference) -> Score:
    """Judge one answer by its best accepted answer; abstaining is found where the answer is absent.

    A reference without any answer raises `ValueError`.
    """
    if reference.absent:
        phrases = replace(reference, answers=_PHRASES, parts=(), distractors=(), statement="")
        return abstain_scorer.judge(answer, phrases)
    values = [value for value in map(normalize_value, reference.answers or reference.parts) if value]
    accepted = [spelling for value in values for spelling in _spellings(value)]
    if not accepted:
        raise ValueError("the reference has no answer to compare with")
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    in_question = content_words(reference.question) if reference.question else frozenset[str]()
    compared = [_compare(lines, value, in_question) for value in accepted]
    best = max(compared, key=lambda score: (score.value, float(score.details["recall"] or 0)))
    if best.value == 0 and is_refusal(flatten(lines)):
        return replace(best, verdict="refused", why="declines to answer or says that it is not there")
    return best


# Right is the phrase that the question asks for, or any other refusal, with no known wrong value beside it.
@rule("abstain", 5)
def abstain_scorer(answer: str, reference: Reference) -> Score:
    """1 where the answer abstains, else 0 with the verdict of `match`."""
    score = match_score(answer, reference)
    if score.verdict == "refused":
        return replace(score, value=1.0, verdict="found", why="says that it is not there, or declines to answer")
    return score


def _spellings(value: str) -> list[str]:
    """A value as it stands, and each side of one that is said again in brackets: `74°C (165°F)`."""
    sides = [_BRACKETS.sub(" ", value), *(match[1] for match in _BRACKETS.finditer(value))]
    twice = len(sides) > 1 and all(any(char.isdigit() for char in side) for side in sides)
    return [value, *sides] if twice and len(content_words(value)) <= _FEW_WORDS else [value]


def _compare(lines: str, value: str, in_question: frozenset[str]) -> Score:
    """Compare an answer (from `normalize_lines`) with an accepted one; `in_question`: content words."""
    text = _stated(outside_copies(lines), silent=is_refusal(value))
    words = content_words(value)
    spans = [(word, span) for word, span in content_word_places(text) if word in words]
    if next(content_word_places(value), None) is None:  # `no`, `both`: the words that every text has
        spans = [(value, span) for span in find_whole(text, value)]
        words = frozenset([value])
    shared = {word for word, _ in spans}
    fault, recall = _fault(text, value, words, spans, in_question) if shared else "", len(shared) / len(words)
    is_right = not fault and recall >= RECALL
    details: Details = {"recall": round(recall, 4), "missing": ", ".join(sorted(words - shared))}
    why = fault or f"has {recall:.0%} of the reference's words"
    return Score(float(is_right), "found" if is_right else "wrong", flatten(lines)[:_SHOWN], why, details)


def _fault(
    text: str, value: str, words: frozenset[str], spans: list[tuple[str, Span]], in_question: frozenset[str]
) -> str:
    shared = {word for word, _ in spans}
    telling = words - in_question or words
    if not shared & telling:
        return "has only words of the question"
    lacking = _figures(words - shared)
    others = _figures(word for word, _ in content_word_places(text)) - words - in_question if lacking else lacking
    if lacking and (others or len(words) <= _FEW_WORDS):
        return f"lacks {', '.join(sorted(lacking))}" + (f", gives {', '.join(sorted(others))}" if others else "")
    if _SHORT_NAME.fullmatch(value) and not find_whole(text, value):
        return "has a part of the name"
    if not _NEGATIVE.search(value):
        affirmed = {word for word, span in spans if not _denied(text, span)}
        if 2 * len((shared & telling) - affirmed) >= len(shared & telling):
            return "denies the reference"
    return ""


def _denied(text: str, span: Span) -> bool:
    return is_negated(text, *span) and not _UNTIL.search(text[max(0, span.start - 40) : span.start])


def _figures(words: Iterable[str]) -> set[str]:
    return {word for word in words if any(char.isdigit() for char in word)}


def _stated(lines: str, *, silent: bool) -> str:
    """An answer without clauses that call the text `silent`, unless these are what is asked."""
    if silent or not is_refusal(flatten(lines)):
        return flatten(lines)
    return " ; ".join(clause for clause in _CLAUSE.split(lines) if clause.strip() and not is_refusal(flatten(clause)))


DOCUMENTS = Scorer("documents", 6, documents_score)


# For contexts whose distractors are all known: each wrong value has a place and, where it makes sense, a kind.
STALE = "stale"
Entry = TypeVar("Entry")


@rule("confusion", 5)
def confusion_scorer(answer: str, reference: Reference) -> Score:
    """Judge as `match` does; a known wrong value also says which one it was.

    Details of a wrong value: `distance` in percent of the context from the right statement to the wrong one (negative:
    the wrong one stands before it), `confused` (its kind), and, where there are stale values, whether it is one.
    """
    score = match_score(answer, reference)
    if score.verdict != "distractor":
        return score
    details = dict(score.details)
    right = next((reference.places[value] for value in reference.answers if value in reference.places), None)
    wrong = _entry(reference.places, score.answer)
    if right is not None and wrong is not None:
        details["distance"] = round(wrong - right, 2)
    kind = _entry(reference.kinds, score.answer)
    if kind is not None:
        details["confused"] = kind
    if STALE in reference.kinds.values():
        details["stale"] = kind == STALE
    return replace(score, details=details)


def _entry(table: Mapping[str, Entry], value: str) -> Entry | None:
    """The entry of a table for a normalised value."""
    return next((entry for name, entry in table.items() if folded_value(name) == value), None)
