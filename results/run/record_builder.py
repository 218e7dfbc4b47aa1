"""Builds the record of a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from needlework.core.grid import Cell
from needlework.pipeline.exchange import Exchange
from needlework.results.records.record import SCHEMA, SCORED, Record
from needlework.results.run.answer_facts import facts_of, reference_of, response_facts, timing_facts
from needlework.scoring.recording import Scored
from needlework.scoring.scores import Score, outcome_of


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
    reference = reference_of(exchange)
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
        response=response_facts(exchange),
        details=details,
        error={"kind": error[0], "message": error[1]} if error else None,
        timing=timing_facts(exchange, worker),
    )


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
