"""Builds the record of a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from needlework.core.grid import Cell
from needlework.core.record import (
    SCORED,
    WAITING,
    Details,
    OutcomeName,
    Record,
    RecordedError,
    RepeatedAnswer,
    record_of_cell,
)
from needlework.pipeline.exchange import Exchange
from needlework.results.run.answer_facts import facts_of, reference_of, response_facts, timing_facts

if TYPE_CHECKING:
    from needlework.scoring.recording import ScoringResult
    from needlework.scoring.scores import Score


def make_record(exchange: Exchange, scored: ScoringResult, *, nodeid: str, worker: str, recipe: str) -> Record:
    """The record of one trial. Where `scored` has no score, its error is a judge's, or the test's own."""
    from needlework.scoring.scores import outcome_of

    response, score = exchange.response, scored.score
    error = None if score is not None else (scored.error_kind or "harness", scored.message)
    if response.error is not None:
        error = (response.error.kind, response.error.message)
    outcome: OutcomeName
    outcome, value = outcome_of(
        error_kind=error[0] if error else None,
        finish_reason=response.finish_reason,
        invalid=exchange.invalid,
        score=score,
        answer_text=response.text,
    )
    if exchange.skipped:
        outcome, value = "skipped", None
    record = _record(exchange, outcome, value, nodeid=nodeid, worker=worker, recipe=recipe)
    record.scorer, record.scorer_version = scored.scorer, scored.version
    record.why = _why(exchange, score, error, outcome)
    record.expected = _expected(record.reference, score)
    record.answer = response.text
    record.read_as = score.answer if score is not None and outcome in SCORED else ""
    record.error = RecordedError(kind=error[0], message=error[1]) if error else None
    if score is not None:
        record.details.score = dict(score.details)
    if exchange.again:
        record.details.stability = repeated_answers(exchange, scored.again)
    return record


def unscored_record(exchange: Exchange, *, worker: str, recipe: str) -> Record | None:
    """The record of an answer before its test scores it; `None` for what will be asked for again."""
    if exchange.response.error is not None or exchange.invalid or exchange.skipped:
        return None
    return _record(exchange, WAITING, None, nodeid="", worker=worker, recipe=recipe)


def ruled_record(exchange: Exchange, scored: ScoringResult, *, worker: str, recipe: str) -> Record | None:
    """The record of an answer that judges ruled on before its test's turn; `None` where no judge has ruled, and where
    its record will have no score."""
    from needlework.scoring.recording import RULED

    if scored.score is None or RULED not in scored.score.details:
        return None
    record = make_record(exchange, scored, nodeid="", worker=worker, recipe=recipe)
    return None if record.score is None else record


def _record(
    exchange: Exchange, outcome: OutcomeName, score: float | None, *, nodeid: str, worker: str, recipe: str
) -> Record:
    """What a record has of the cell and the answer."""
    language, seed = exchange.suite.language, exchange.seed
    reference = reference_of(exchange)
    record = record_of_cell(
        exchange.cell, exchange.model, outcome, score, language=language, seed=seed, reference=reference
    )
    record.key, record.nodeid, record.question = exchange.key, nodeid, exchange.question
    record.prompt, record.response = facts_of(exchange), response_facts(exchange)
    record.details = Details(flags=list(exchange.flags), recipe=recipe, invalid=list(exchange.invalid))
    record.timing = timing_facts(exchange, worker)
    return record


def lost_record(cell: Cell, *, model: str, nodeid: str, recipe: str, message: str, language: str, seed: int) -> Record:
    """The record of a cell whose process died: an error that says so, so that the cell does not vanish."""
    record = record_of_cell(cell, model, "error", language=language, seed=seed)
    record.nodeid, record.why = nodeid, message
    record.details = Details(recipe=recipe)
    record.error = RecordedError(kind="harness", message=message)
    return record


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


def repeated_answers(exchange: Exchange, scores: Sequence[ScoringResult]) -> list[RepeatedAnswer]:
    """One for each further answer: how it was asked, its text, outcome and score; `[]` without a probe."""
    return [
        _repeated(again.how, repeat, scored)
        for again, repeat, scored in zip(exchange.again, exchange.asked_again, scores, strict=False)
    ]


def _repeated(how: str, exchange: Exchange, scored: ScoringResult) -> RepeatedAnswer:
    from needlework.scoring.scores import outcome_of

    response = exchange.response
    outcome, value = outcome_of(
        error_kind=response.error.kind if response.error else scored.error_kind,
        finish_reason=response.finish_reason,
        invalid=exchange.invalid,
        score=scored.score,
        answer_text=response.text,
    )
    return RepeatedAnswer(
        how=how,
        text=response.text,
        finish_reason=response.finish_reason,
        outcome=outcome,
        score=value,
        error=RecordedError(kind=response.error.kind, message=response.error.message) if response.error else None,
    )
