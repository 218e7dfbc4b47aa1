"""What a record says of a prompt, its retrieval and its answer."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from msgspec import structs

from needlework.core.record import NeedleFacts, PromptFacts, ResponseFacts, RetrievalFacts, Timing
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.pipeline.exchange import Exchange
from needlework.scoring.content_words import content_words


def reference_of(exchange: Exchange) -> dict[str, Any]:
    """What the answer is scored against, with lists as JSON has them."""
    reference = exchange.reference or {}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in reference.items()}


def response_facts(exchange: Exchange) -> ResponseFacts:
    """What a record keeps of a response."""
    return ResponseFacts(**{name: getattr(exchange.response, name) for name in ResponseFacts.__struct_fields__})


def timing_facts(exchange: Exchange, worker: str) -> Timing:
    """What may differ between two runs of the same thing."""
    response = exchange.response
    return Timing(
        latency_s=_rounded(response.latency_s),
        ttft_s=_rounded(response.ttft_s),
        tokens_per_s=_tokens_per_s(exchange),
        build_s=_rounded(exchange.build_s),
        cached_tokens=response.cached_tokens,
        attempts=response.attempts,
        worker=worker,
        replayed=exchange.replayed,
    )


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


def facts_of(exchange: Exchange) -> PromptFacts:
    """The prompt facts of an exchange: as they were stored, or of its trial; empty where it has no prompt."""
    if exchange.stored_prompt is not None:
        return exchange.stored_prompt
    return prompt_facts(exchange.trial) if exchange.trial is not None else PromptFacts()


def prompt_facts(trial: Trial) -> PromptFacts:
    """The facts of a prompt that was built; where its context was retrieved, with how much of the answer was found."""
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
            NeedleFacts(
                name=needle.name,
                start=needle.start,
                end=needle.end,
                tokens_before=needle.tokens_before,
                tokens=needle.tokens,
                requested=round(needle.requested, 3),
                depth=round(needle.depth, 3),
                **(_around(prompt.text, needle.start, needle.end) if needle.name in question_needles else {}),
            )
            for needle in prompt.placed
        ],
        retrieval=_retrieval(trial),
    )


def _around(text: str, start: int, end: int) -> dict[str, str]:
    """A needle as it stands in the prompt, and the characters on either side."""
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    shown, half = text[start:end], _LONGEST // 2
    shown = shown if len(shown) <= _LONGEST else f"{shown[:half]} [...] {shown[-half:]}"
    return {"before": before, "text": shown, "after": after}


def _retrieval(trial: Trial) -> RetrievalFacts | None:
    if trial.retrieved is None:
        return None
    search, prompt = trial.retrieved.search, trial.prompt
    recall = answer_recall(search.answer, [text for _, text in search.texts], prompt.text[slice(*prompt.context)])
    return structs.replace(trial.retrieved.facts, answer_recall=recall)


_CACHED_TEXTS = 512


def answer_recall(answer: str, searched: list[str], context: str) -> float | None:
    """The share (0..1) of the answer's content words that stand in the context, of those that the searched texts have;
    `None` where they have none."""
    words = content_words(answer)
    there = {word for text in searched for word in words & _words(text)}
    return round(len(there & content_words(context)) / len(there), 4) if there else None


@lru_cache(_CACHED_TEXTS)
def _words(text: str) -> frozenset[str]:
    """All questions of a document have the same one."""
    return content_words(text)
