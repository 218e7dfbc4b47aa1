"""From an exchange and its score to a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.trials.exchange import Exchange
from needlework.results.records.record import SCHEMA, SCORED, Record, WaitingAnswer
from needlework.results.run.prompt_facts import facts_of
from needlework.results.run.stability_record import asked_again
from needlework.scoring.outcomes import outcome_of
from needlework.scoring.recording import Scored
from needlework.scoring.scores import Score


def make_record(exchange: Exchange, scored: Scored, *, nodeid: str, worker: str, recipe: str) -> Record:
    """The record of one trial. Where `scored` has no score, its error is a judge's, or the test's own."""
    cell, response, score = exchange.cell, exchange.response, scored.score
    error = None if score is not None else (scored.error_kind or "harness", scored.message)
    if response.error is not None:
        error = (response.error.kind, response.error.message)
    outcome, value = outcome_of(
        error_kind=error[0] if error else None,
        finish_reason=response.finish_reason,
        invalid=exchange.invalid,
        score=score,
        answer_text=response.text,
    )
    if exchange.skipped:
        outcome, value = "skipped", None
    reference = _reference(exchange)
    details: dict[str, Any] = {"flags": list(exchange.flags), "recipe": recipe}
    if exchange.invalid:
        details["invalid"] = list(exchange.invalid)
    if score is not None and score.details:
        details["score"] = dict(score.details)
    if exchange.again:
        details["stability"] = asked_again(exchange, scored.again)
    return Record(
        schema=SCHEMA,
        key=exchange.key,
        id=cell.id,
        nodeid=nodeid,
        model=exchange.model,
        task=cell.task,
        needle=cell.needle,
        language=exchange.suite.language,
        length=cell.length,
        depth=cell.depth,
        repeat=cell.repeat,
        seed=exchange.seed,
        outcome=outcome,
        score=value,
        scorer=scored.scorer,
        scorer_version=scored.version,
        why=_why(exchange, score, error, outcome),
        question=exchange.question,
        expected=_expected(reference, score),
        reference=reference,
        answer=score.answer if score is not None and outcome in SCORED else "",
        prompt=dict(facts_of(exchange)),
        response=_response_facts(exchange),
        details=details,
        error={"kind": error[0], "message": error[1]} if error else None,
        timing=_timing_facts(exchange, worker),
    )


def waiting_answer(exchange: Exchange, worker: str) -> WaitingAnswer | None:
    """What to write down of an answer before its test scores it; `None` for what will be asked for again."""
    if exchange.response.error is not None or exchange.invalid or exchange.skipped:
        return None
    return WaitingAnswer(
        key=exchange.key,
        outcome="waiting",
        question=exchange.question,
        reference=_reference(exchange),
        prompt=dict(facts_of(exchange)),
        response=_response_facts(exchange),
        details={"flags": list(exchange.flags)},
        timing=_timing_facts(exchange, worker),
    )


def _reference(exchange: Exchange) -> dict[str, Any]:
    given = exchange.reference or {}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def _response_facts(exchange: Exchange) -> dict[str, Any]:
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


def _timing_facts(exchange: Exchange, worker: str) -> dict[str, Any]:
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


def lost_record(cell: Cell, *, model: str, nodeid: str, recipe: str, message: str, language: str, seed: int) -> Record:
    """The record of a cell whose process died: an error that says so, so that the cell does not vanish."""
    return Record(
        schema=SCHEMA, key="", id=cell.id, nodeid=nodeid, model=model, task=cell.task, needle=cell.needle,
        language=language, length=cell.length, depth=cell.depth, repeat=cell.repeat, seed=seed, outcome="error",
        score=None, scorer="", scorer_version=0, why=message, question="", expected=[], reference={}, answer="",
        prompt={}, response={}, details={"flags": [], "recipe": recipe},
        error={"kind": "harness", "message": message}, timing={},
    )  # fmt: skip


def _expected(reference: Mapping[str, Any], score: Score | None) -> list[str]:
    """What a right answer holds, or what the score compares with, where that is something else."""
    compared = score.details.get("compared_with") if score is not None else None
    return [str(compared)] if compared else list(reference.get("answers") or reference.get("parts") or ())


def _why(exchange: Exchange, score: Score | None, error: tuple[str, str] | None, outcome: str) -> str:
    if exchange.skipped:
        return exchange.skipped
    if error is not None:
        return error[1]
    if exchange.invalid:
        return f"{', '.join(exchange.invalid)}: {exchange.invalid_why or 'no answer to the prompt that was built'}"
    if outcome == "censored":
        if exchange.response.finish_reason == "unfinished":
            return "it ended with reasoning alone, without an answer"
        return "cut off by the token limit before an answer"
    return score.why if score is not None else ""


def _tokens_per_s(exchange: Exchange) -> float | None:
    """Answer tokens per second after the first token."""
    response = exchange.response
    if response.latency_s is None or response.ttft_s is None or (response.completion_tokens or 0) < 2:
        return None
    seconds = response.latency_s - response.ttft_s
    return round((cast(int, response.completion_tokens) - 1) / seconds, 2) if seconds > 0 else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
