"""What a record says about a prompt; where its context was retrieved, also how much of the answer was found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from needlework.haystack_fixtures.trials.exchange import Exchange, prompt_facts
from needlework.scoring.answers.content_words import content_words

_TEXTS_KEPT = 512


def facts_of(exchange: Exchange) -> Mapping[str, Any]:
    """The prompt facts of an exchange, empty where it has no prompt."""
    trial = exchange.trial
    facts = exchange.prompt_facts or (prompt_facts(trial) if trial else {})
    if trial is None or trial.retrieved is None or "answer_recall" in facts["retrieval"]:
        return facts
    search, prompt = trial.retrieved.search, trial.prompt
    recall = answer_recall(search.answer, [text for _, text in search.texts], prompt.text[slice(*prompt.context)])
    return {**facts, "retrieval": {**facts["retrieval"], "answer_recall": recall}}


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
