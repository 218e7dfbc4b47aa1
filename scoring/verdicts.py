"""From numbers to verdicts, and from references to the texts that the published rules compare with."""

from __future__ import annotations

from needlework.scoring.plain_text import normalize
from needlework.scoring.reading import is_refusal
from needlework.scoring.scores import Reference, Verdict

_EXACT = 1 - 1e-9


def verdict_for(value: float, answer: str, *, partial_from: float = 0.5) -> Verdict:
    """Name a score 0..1: found at 1, partial from `partial_from`; else empty, refused or wrong by the answer.

    Rules with a floor of unearned points (an edit distance gives any answer some) need a high `partial_from`.
    """
    if value >= _EXACT:
        return "found"
    if value >= partial_from and value > 0:
        return "partial"
    text = normalize(answer[:4000])
    return "empty" if not text else "refused" if is_refusal(text) else "wrong"


def contradicts(value: float, verdict: Verdict) -> bool:
    """Whether a full score is called a miss, or no score at all a hit. An unclear answer's score is not counted."""
    return (value >= _EXACT and verdict not in ("found", "unclear")) or (value == 0 and verdict in ("found", "partial"))


def expected_text(reference: Reference) -> str:
    """Give the text that edit-distance and exact rules compare with: the needle sentence, else the first answer."""
    if reference.statement:
        return reference.statement
    if reference.answers:
        return reference.answers[0]
    if reference.parts:
        return "\n".join(reference.parts)
    raise ValueError("the reference has no statement, answers or parts to compare with")


def expected_keyword(reference: Reference) -> str:
    """Give what the keyword rules look for: the keyword, else the first answer."""
    if reference.keyword:
        return reference.keyword
    if reference.answers:
        return reference.answers[0]
    raise ValueError("the reference has neither keyword nor answers to look for")
