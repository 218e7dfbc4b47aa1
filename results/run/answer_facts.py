"""What a record says of a prompt, its retrieval and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from needlework.haystack_fixtures.trials.builder import Trial
from needlework.pipeline.exchange import Exchange
from needlework.results.records.record import WaitingAnswer, WaitingRuling
from needlework.scoring.match.polarity import content_words

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
    from needlework.scoring.recording import RULED
    from needlework.scoring.scores import outcome_of

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


AROUND = 160  # characters on either side of a needle that a record keeps, to be looked at
_LONGEST = 1000  # of a needle itself: of one that is a whole document both ends


def facts_of(exchange: Exchange) -> Mapping[str, Any]:
    """The prompt facts of an exchange: as they were stored, or of its trial; empty where it has no prompt."""
    if exchange.stored_prompt is not None:
        return exchange.stored_prompt
    return prompt_facts(exchange.trial) if exchange.trial is not None else {}


def prompt_facts(trial: Trial) -> dict[str, Any]:
    """The facts of a prompt that was built; where its context was retrieved, with how much of the answer was found."""
    prompt = trial.prompt
    asked = {needle.name for needle in trial.asked.needles}
    return {
        "tokens": prompt.tokens,
        "context_tokens": prompt.context_tokens,
        **({"length_means": "context"} if trial.suite.length_means == "context" else {}),
        "slack": prompt.slack,
        **({"tokens_error": round(prompt.error, 4)} if prompt.error else {}),
        "template": trial.suite.template,
        "sha256": prompt.text_sha256,
        "filler_sha256": prompt.filler_sha256,
        "corpus_passes": round(prompt.corpus_passes, 4),
        "flags": list(prompt.flags),
        **({"truncated": round(prompt.truncated, 4)} if "truncated" in prompt.flags else {}),
        "needles": [
            {
                "name": needle.name,
                "start": needle.start,
                "end": needle.end,
                "tokens_before": needle.tokens_before,
                "tokens": needle.tokens,
                "requested": round(needle.requested, 3),
                "depth": round(needle.depth, 3),
                **(_around(prompt.text, needle.start, needle.end) if needle.name in asked else {}),
            }
            for needle in prompt.placed
        ],
        **({"retrieval": _retrieval(trial)} if trial.retrieved else {}),
    }


def _around(text: str, start: int, end: int) -> dict[str, str]:
    """A needle as it stands in the prompt, and the characters on either side."""
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    shown, half = text[start:end], _LONGEST // 2
    shown = shown if len(shown) <= _LONGEST else f"{shown[:half]} [...] {shown[-half:]}"
    return {"before": before, "text": shown, "after": after}


def _retrieval(trial: Trial) -> dict[str, Any]:
    if trial.retrieved is None:
        return {}
    search, prompt = trial.retrieved.search, trial.prompt
    recall = answer_recall(search.answer, [text for _, text in search.texts], prompt.text[slice(*prompt.context)])
    return {**trial.retrieved.facts, "answer_recall": recall}


_TEXTS_KEPT = 512


def answer_recall(answer: str, searched: list[str], context: str) -> float | None:
    """The share (0..1) of the answer's content words that stand in the context, of those that the searched texts have;
    `None` where they have none."""
    wanted = content_words(answer)
    there = {word for text in searched for word in wanted & _words(text)}
    return round(len(there & content_words(context)) / len(there), 4) if there else None


@lru_cache(_TEXTS_KEPT)
def _words(text: str) -> frozenset[str]:
    """All questions of a document have the same one."""
    return content_words(text)
