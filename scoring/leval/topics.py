"""The first, second or third topic of a record of conversations (topic retrieval).

Compatible: the reference wherever it stands in the answer as a piece of text, so that naming every topic is right.
Strict: the answer gives the reference, whole and affirmed, and none of the other topics (`Reference.distractors`).
"""

from __future__ import annotations

from dataclasses import replace

from needlework.scoring.leval.exact_core import exact_match, gold_of, judged
from needlework.scoring.scorers.match import match_score
from needlework.scoring.scores import Reference, Score, Scorer

ORDINALS = ("first", "second", "third")


def asked_for(question: str) -> str | None:
    """Which topic a question asks for: `first`, `second` or `third`; `None` where it names none of them or several."""
    named = [ordinal for ordinal in ORDINALS if f"the {ordinal} topic" in question.lower()]
    return named[0] if len(named) == 1 else None


def _compat(answer: str, reference: Reference) -> Score:
    gold = gold_of(reference)
    return judged(exact_match(answer, gold), answer, answer, gold)


def _strict(answer: str, reference: Reference) -> Score:
    return match_score(answer, replace(reference, answers=(gold_of(reference),), parts=(), statement=""))


TOPIC = Scorer("leval_topic", 2, _strict)
TOPIC_COMPAT = Scorer("leval_topic_compat", 1, _compat)
