"""What a record tells of the stability probe: each further answer to the same prompt, scored like the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from needlework.haystack_fixtures.trials.exchange import Exchange
from needlework.scoring.outcomes import outcome_of
from needlework.scoring.recording import Scored


def asked_again(exchange: Exchange, scores: Sequence[Scored]) -> list[dict[str, Any]]:
    """One object for each further answer: how it was asked, its text, outcome and score; `[]` without a probe."""
    return [
        _told(each.how, repeat, scored)
        for each, repeat, scored in zip(exchange.again, exchange.asked_again, scores, strict=False)
    ]


def _told(how: str, exchange: Exchange, scored: Scored) -> dict[str, Any]:
    response = exchange.response
    outcome, value = outcome_of(
        error_kind=response.error.kind if response.error else scored.error_kind,
        finish_reason=response.finish_reason,
        invalid=exchange.invalid,
        score=scored.score,
        answer_text=response.text,
    )
    return {
        "how": how,
        "text": response.text,
        "finish_reason": response.finish_reason,
        "outcome": outcome,
        "score": value,
        "error": {"kind": response.error.kind, "message": response.error.message} if response.error else None,
    }
