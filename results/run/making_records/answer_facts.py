"""What is written down of an answer, scored or not. It loads no scorers: other answers would wait meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from needlework.haystack_fixtures.trials.exchange import Exchange
from needlework.results.records.record import WaitingAnswer, WaitingRuling
from needlework.results.run.making_records.prompt_facts import facts_of

if TYPE_CHECKING:
    from needlework.scoring.recording import Scored


def waiting_answer(exchange: Exchange, worker: str) -> WaitingAnswer | None:
    """What to write down of an answer before its test scores it; `None` for what will be asked for again."""
    if exchange.response.error is not None or exchange.invalid or exchange.skipped:
        return None
    return WaitingAnswer(
        key=exchange.key,
        outcome="waiting",
        question=exchange.question,
        reference=reference_of(exchange),
        prompt=dict(facts_of(exchange)),
        response=response_facts(exchange),
        details={"flags": list(exchange.flags)},
        timing=timing_facts(exchange, worker),
    )


def waiting_ruling(exchange: Exchange, scored: Scored) -> WaitingRuling | None:
    """What to write down of a score that an exchange has before its test's turn; `None` where no judge has ruled, and
    where its record will have no score."""
    from needlework.scoring.outcomes import outcome_of
    from needlework.scoring.recording import RULED

    score, text = scored.score, exchange.response.text
    if score is None or RULED not in score.details:
        return None
    outcome, value = outcome_of(
        error_kind=None,
        finish_reason=exchange.finish_reason,
        invalid=exchange.invalid,
        score=score,
        answer_text=text,
    )
    if value is None:
        return None
    told = {"name": scored.scorer, "version": scored.version, "value": value, "verdict": outcome}
    told |= {"answer": score.answer, "why": score.why, "details": dict(score.details)}
    return WaitingRuling(key=exchange.key, outcome="ruled", score=told)


def reference_of(exchange: Exchange) -> dict[str, Any]:
    """What the answer is scored against, with lists as JSON has them."""
    given = exchange.reference or {}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def response_facts(exchange: Exchange) -> dict[str, Any]:
    """What a record keeps of a response."""
    response = exchange.response
    return {
        "text": response.text,
        "reasoning": response.reasoning,
        "finish_reason": response.finish_reason,
        "prompt_tokens": response.prompt_tokens,
        "completion_tokens": response.completion_tokens,
        "reasoning_tokens": response.reasoning_tokens,
        **{name: told for name in ("model", "fingerprint", "server") if (told := getattr(response, name))},
    }


def timing_facts(exchange: Exchange, worker: str) -> dict[str, Any]:
    """What may differ between two runs of the same thing."""
    response = exchange.response
    return {
        "latency_s": _rounded(response.latency_s),
        "ttft_s": _rounded(response.ttft_s),
        "tokens_per_s": _tokens_per_s(exchange),
        "build_s": _rounded(exchange.build_s),
        "cached_tokens": response.cached_tokens,
        "attempts": response.attempts,
        "worker": worker,
        "replayed": exchange.replayed,
    }


def _tokens_per_s(exchange: Exchange) -> float | None:
    """Answer tokens per second after the first token."""
    response = exchange.response
    if response.latency_s is None or response.ttft_s is None or (response.completion_tokens or 0) < 2:
        return None
    seconds = response.latency_s - response.ttft_s
    return round((cast(int, response.completion_tokens) - 1) / seconds, 2) if seconds > 0 else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
