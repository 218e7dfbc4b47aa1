"""What a record says about a prompt: counts, spans, depths, hashes; of its text only what stands at the needles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from needlework.haystack_fixtures.trials.exchange import Exchange
from needlework.haystack_fixtures.trials.trial import Trial
from needlework.results.run.making_records.retrieval_facts import answer_recall

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
