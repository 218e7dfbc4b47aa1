"""Builds the record of a trial from its exchange and score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import structs

from needlework.core.grid import parse_id
from needlework.core.record import (
    SCORED,
    WAITING,
    Details,
    OutcomeName,
    PromptFacts,
    Record,
    RecordedError,
    RepeatedAnswer,
    ResponseFacts,
    RetrievalFacts,
    Timing,
    record_of_cell,
)
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.haystack_fixtures.trials.contexts import Trial
from needlework.pipeline.exchange import Exchange
from needlework.scoring.plain_text import content_words

if TYPE_CHECKING:
    from needlework.scoring.recording import ScoringResult


def make_record(exchange: Exchange, scored: ScoringResult, *, nodeid: str, worker: str, recipe: str) -> Record:
    """The record of one trial. Where `scored` has no score, its error is a judge's, or the test's own."""
    response, score = exchange.response, scored.score
    outcome, value, error = _outcome_of(exchange, scored, "harness")
    if exchange.skipped:
        outcome, value = "skipped", None
    record = _unjudged_record(exchange, outcome, value, nodeid=nodeid, worker=worker, recipe=recipe)
    record.scorer, record.scorer_version = scored.scorer, scored.version
    record.why = _why(exchange, scored, error, outcome)
    # What a right answer holds, or what the score compares with, where that is something else.
    compared = score.details.get("compared_with") if score is not None else None
    answers = record.reference.get("answers") or record.reference.get("parts") or ()
    record.expected = [str(compared)] if compared else list(answers)
    record.answer = response.text
    record.read_as = score.answer if score is not None and outcome in SCORED else ""
    record.error = error
    if score is not None:
        record.details.score = dict(score.details)
    if exchange.again:
        record.details.stability = repeated_answers(exchange, scored.again)
    return record


def unscored_record(exchange: Exchange, *, worker: str, recipe: str) -> Record | None:
    """The record of an answer before its test scores it; `None` for what a resumed run sends again."""
    if exchange.response.error is not None or exchange.invalid or exchange.skipped:
        return None
    return _unjudged_record(exchange, WAITING, None, nodeid="", worker=worker, recipe=recipe)


def ruled_record(exchange: Exchange, scored: ScoringResult, *, worker: str, recipe: str) -> Record | None:
    """The record of an answer that judges ruled on before its test's turn.
    `None` where no judge has ruled, and where its record will have no score."""
    from needlework.scoring.recording import RULED

    if scored.score is None or RULED not in scored.score.details:
        return None
    record = make_record(exchange, scored, nodeid="", worker=worker, recipe=recipe)
    return None if record.score is None else record


def lost_record(nodeid: str, reason: str, grid: Iterable[Series], *, recipe: str, seed: int) -> Record | None:
    """The record of a cell whose test died, an error that says so; `None` where the test has no cell."""
    cell = parse_id(nodeid)
    if cell is None:
        return None
    names, model, language = (cell.task, cell.needle, cell.model), cell.model, ""
    for series in grid:
        first = series.cells[0]
        if (first.task, first.needle, first.model) == names:
            model, language, repeat = series.model, series.suite.language, cell.repeat
            # An id has the depth in three decimals only.
            same = (known for each in series.cells if (known := replace(each, repeat=repeat)).id == cell.id)
            cell = next(same, cell)
            break
    record = record_of_cell(cell, model, "error", language=language, seed=seed)
    record.nodeid, record.why = nodeid, (reason.strip().splitlines()[-1:] or ["the process died"])[0][:300]
    record.details = Details(recipe=recipe)
    record.error = RecordedError("harness", record.why)
    return record


def repeated_answers(exchange: Exchange, scores: Sequence[ScoringResult]) -> list[RepeatedAnswer]:
    """The further answers of a stability probe: way, text, outcome and score; `[]` without one."""
    answers = []
    for again, repeat, scored in zip(exchange.again, exchange.asked_again, scores, strict=False):
        outcome, value, error = _outcome_of(repeat, scored)
        response = repeat.response
        error = error if response.error is not None else None
        answers.append(RepeatedAnswer(again.how, response.text, response.finish_reason, outcome, value, error))
    return answers


def _outcome_of(
    exchange: Exchange, scored: ScoringResult, unscored: str = ""
) -> tuple[OutcomeName, float | None, RecordedError | None]:
    """Outcome, score and error, a request's before a judge's. `unscored`: kind of any other error."""
    from needlework.scoring.scores import outcome_of

    response, error = exchange.response, None
    if response.error is not None:
        error = RecordedError(response.error.kind, response.error.message)
    elif scored.score is None and (kind := scored.error_kind or unscored):
        error = RecordedError(kind, scored.message)
    outcome, value = outcome_of(
        error_kind=error.kind if error else None,
        finish_reason=response.finish_reason,
        invalid=exchange.invalid,
        score=scored.score,
        answer_text=response.text,
    )
    return outcome, value, error


def _why(exchange: Exchange, scored: ScoringResult, error: RecordedError | None, outcome: str) -> str:
    if exchange.skipped:
        return exchange.skipped
    if error is not None:
        return error.message
    if exchange.invalid:
        return f"{', '.join(exchange.invalid)}: {exchange.invalid_why or 'no answer to the prompt that was built'}"
    if outcome == "censored":
        if exchange.response.finish_reason == "unfinished":
            return "it ended with reasoning alone, without an answer"
        return "cut off by the token limit before an answer"
    return scored.score.why if scored.score is not None else ""


def _unjudged_record(
    exchange: Exchange, outcome: OutcomeName, score: float | None, *, nodeid: str, worker: str, recipe: str
) -> Record:
    """The record of a cell and its answer."""
    fields = (exchange.reference or {}).items()
    reference = {name: list(value) if isinstance(value, tuple) else value for name, value in fields}
    language, seed = exchange.suite.language, exchange.seed
    record = record_of_cell(
        exchange.cell, exchange.model, outcome, score, language=language, seed=seed, reference=reference
    )
    record.key, record.nodeid, record.question = exchange.key, nodeid, exchange.question
    if exchange.stored_prompt is not None:
        record.prompt = exchange.stored_prompt
    elif exchange.trial is not None:
        record.prompt = prompt_facts(exchange.trial)
    response = exchange.response
    record.response = ResponseFacts(**{name: getattr(response, name) for name in ResponseFacts.__struct_fields__})
    record.details = Details(flags=list(exchange.flags), recipe=recipe, invalid=list(exchange.invalid))
    record.timing = Timing(
        latency_s=_rounded(response.latency_s),
        ttft_s=_rounded(response.ttft_s),
        tokens_per_s=_tokens_per_s(exchange),
        build_s=_rounded(exchange.build_s),
        cached_tokens=response.cached_tokens,
        attempts=response.attempts,
        worker=worker,
        replayed=exchange.replayed,
    )
    return record


def _tokens_per_s(exchange: Exchange) -> float | None:
    """Answer tokens per second after the first token."""
    response = exchange.response
    if response.latency_s is None or response.ttft_s is None or (response.completion_tokens or 0) < 2:
        return None
    seconds = response.latency_s - response.ttft_s
    return round(((response.completion_tokens or 0) - 1) / seconds, 2) if seconds > 0 else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


_AROUND = 160  # characters on either side of a needle that a record has, for people to look at
_LONGEST = 1000  # of a needle itself: of one that is a whole document both ends


def prompt_facts(trial: Trial) -> PromptFacts:
    """The facts of a built prompt; of a retrieved context also the answer's share in it."""
    prompt = trial.prompt
    question_needles = {needle.name for needle in trial.asked.needles}
    return PromptFacts(
        tokens=prompt.tokens,
        context_tokens=prompt.context_tokens,
        length_means="context" if trial.suite.length_means == "context" else "",
        slack=prompt.slack,
        tokens_error=round(prompt.error, 4),
        template=trial.suite.template,
        sha256=prompt.text_sha256,
        filler_sha256=prompt.filler_sha256,
        # Noise is one passage over and over, which is no lack of text.
        corpus_passes=0.0 if trial.suite.corpus == "noise" else round(prompt.corpus_passes, 4),
        flags=list(prompt.flags),
        truncated=round(prompt.truncated, 4) if "truncated" in prompt.flags else None,
        needles=[
            structs.replace(
                needle,
                requested=round(needle.requested, 3),
                depth=round(needle.depth, 3),
                **(_around(prompt.text, needle.start, needle.end) if needle.name in question_needles else {}),
            )
            for needle in prompt.placed
        ],
        retrieval=_retrieval(trial),
    )


def _around(text: str, start: int, end: int) -> dict[str, Any]:
    """A needle in the prompt, and the characters on either side."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    shown, half = text[start:end], _LONGEST // 2
    shown = shown if len(shown) <= _LONGEST else f"{shown[:half]} [...] {shown[-half:]}"
    return {"before": before, "text": shown, "after": after}


def _retrieval(trial: Trial) -> RetrievalFacts | None:
    if trial.retrieved is None:
        return None
    search, prompt = trial.retrieved.search, trial.prompt
    recall = answer_recall(search.answer, [text for _, text in search.texts], prompt.text[slice(*prompt.context)])
    return structs.replace(trial.retrieved.facts, answer_recall=recall)


_words = lru_cache(maxsize=512)(content_words)  # all questions of a document have the same one


def answer_recall(answer: str, searched: list[str], context: str) -> float | None:
    """The share (0..1) of the answer's content words in the context.
    Of those that the searched texts have; `None` where they have none."""
    words = content_words(answer)
    known = {word for text in searched for word in words & _words(text)}
    return round(len(known & content_words(context)) / len(known), 4) if known else None
