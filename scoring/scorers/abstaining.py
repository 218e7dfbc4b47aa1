"""Scoring the absent arm of a twin: the answer stands nowhere in the text, and right is to say so.

Right is the phrase that the question asks for, or any other refusal, with no known wrong value beside it.
"""

from __future__ import annotations

from dataclasses import replace

from needlework.scoring.scorers.match import match_score
from needlework.scoring.scores import Reference, Score, Scorer


def abstain_score(answer: str, reference: Reference) -> Score:
    """1 where the answer abstains, else 0 with the verdict of `match`."""
    score = match_score(answer, reference)
    if score.verdict == "refused":
        return replace(score, value=1.0, verdict="found", why="says that it is not there, or declines to answer")
    return score


ABSTAIN = Scorer("abstain", 3, abstain_score)
