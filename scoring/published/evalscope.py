"""Exact and normalised matches (EvalScope `needle_haystack`, rule strategy) and our versions of them.

EvalScope's rule wants the whole needle text: a correct short answer scores 0 (`exact_match_compat`). `exact_match`
also takes an accepted spelling of the value; `normalized_match` wants one of them anywhere in the answer.
"""

from __future__ import annotations

import re
import string

from needlework.scoring.answers.values import find_whole
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import expected_text, verdict_for

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Normalise as EvalScope and SQuAD do: lower case, no ASCII punctuation, no a/an/the, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def rule_score(prediction: str, reference: str) -> int:
    """EvalScope's rule: 1 if the two normalised texts are equal; an empty prediction is 0 whatever the reference."""
    left = normalize_answer(prediction)
    return int(bool(left) and left == normalize_answer(reference))


def _exact_compat(answer: str, reference: Reference) -> Score:
    value = float(rule_score(answer, expected_text(reference)))
    return Score(value, verdict_for(value, answer), answer[:200], "equal" if value else "not the whole needle text")


def _exact(answer: str, reference: Reference) -> Score:
    for text in _accepted(reference):
        if rule_score(answer, text):
            return Score(1.0, "found", answer[:200], "equal to an accepted text")
    return Score(0.0, verdict_for(0.0, answer), answer[:200], "equal to no accepted text")


def _contained(answer: str, reference: Reference) -> Score:
    said = normalize_answer(answer)
    for text in _accepted(reference):
        wanted = normalize_answer(text)
        if find_whole(said, wanted):
            return Score(1.0, "found", wanted, f"contains {wanted[:80]!r}")
    return Score(0.0, verdict_for(0.0, answer), answer[:200], "contains no accepted text")


def _accepted(reference: Reference) -> tuple[str, ...]:
    texts = tuple(text for text in (reference.statement, *reference.answers) if text.strip())
    return texts or (expected_text(reference),)


EXACT_MATCH = Scorer("exact_match", 1, _exact)
EXACT_MATCH_COMPAT = Scorer("exact_match_compat", 1, _exact_compat)
NORMALIZED_MATCH = Scorer("normalized_match", 1, _contained)
