"""From what happened to a trial's outcome, and whether it has a score."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.scoring.scores import Outcome, Score

CUT_OFF = ("length", "unfinished")
"""Finish reasons of an answer that is not whole: the token limit, and reasoning with no answer behind it."""


def outcome_of(
    *, error_kind: str | None, finish_reason: str | None, invalid: Sequence[str], score: Score | None, answer_text: str
) -> tuple[Outcome, float | None]:
    """Decide the outcome of one trial, and its score (`None` where it must not enter an average).

    In this order: an error; a prompt that was not what it should be; an answer that the token limit cut off before it
    gave anything right, or that never got beyond its reasoning (censored), unless nothing that could follow would have
    made it right; a content filter (refused); the scorer's
    verdict, which is no score where the rules cannot tell (unclear). Without a score a blank answer is empty, and any
    other text an error: nothing judged it.
    """
    if error_kind:
        return "error", None
    if invalid:
        return "invalid", None
    hit = score is not None and score.verdict in ("found", "partial")
    if finish_reason in CUT_OFF and not hit and not (score and score.settled):
        return "censored", None
    if finish_reason == "content_filter" and not hit:
        return "refused", 0.0
    if score is None:
        return ("error", None) if answer_text.strip() else ("empty", 0.0)
    if score.verdict == "unclear":
        return "unclear", None
    return score.verdict, score.value
