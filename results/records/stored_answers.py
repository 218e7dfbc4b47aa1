"""Answers that a run need not ask for again, from its records and from what a killed run has left waiting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from needlework.haystack_fixtures.trials.exchange import Again, ModelError, Response, StoredAnswer
from needlework.results.records.record import FINAL, WAITING, Record, WaitingAnswer

_NONE: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


def stored_answers(
    records: list[Record], waiting: list[WaitingAnswer], rulings: Mapping[str, Mapping[str, Any]] = _NONE
) -> dict[str, StoredAnswer]:
    """The answers that are there, by key; of a key's answers the last one counts, and any record before the waiting.

    An error that came after an answer, as in journals that were joined, takes nothing away. What only a judge failed at
    is an answer. `rulings`: the judges' on these answers, by key, where they are newer than the records.
    """
    final = {record["key"]: record for record in records if record["outcome"] in FINAL or _unjudged(record)}
    waited = {answer["key"]: stored_answer(answer) for answer in waiting}
    found = waited | {key: stored_answer(record) for key, record in final.items()}
    return found | {key: replace(found[key], score=score) for key, score in rulings.items() if key in found}


def stored_answer(record: Record | WaitingAnswer) -> StoredAnswer:
    """The answer that a record tells of."""
    response, timing, details = record["response"], record["timing"], record["details"]
    return StoredAnswer(
        response=Response(
            text=response.get("text", ""),
            reasoning=response.get("reasoning", ""),
            finish_reason=response.get("finish_reason"),
            prompt_tokens=response.get("prompt_tokens"),
            completion_tokens=response.get("completion_tokens"),
            reasoning_tokens=response.get("reasoning_tokens"),
            cached_tokens=timing.get("cached_tokens"),
            latency_s=timing.get("latency_s"),
            ttft_s=timing.get("ttft_s"),
            attempts=timing.get("attempts", 1),
            model=response.get("model", ""),
            fingerprint=response.get("fingerprint", ""),
            server=response.get("server", ""),
        ),
        question=record["question"],
        reference=record["reference"],
        prompt=record["prompt"],
        flags=tuple(details.get("flags", ())),
        again=tuple(map(_again, details.get("stability", ()))),
        build_s=timing.get("build_s"),
        scored=record["outcome"] != WAITING,
        score=_score(record),
    )


def _unjudged(record: Record) -> bool:
    """Whether an answer is there, and only its judge failed: the judge is asked again, not the model."""
    return record["outcome"] == "error" and (record["error"] or {}).get("kind") == "judge"


def ruling_of(record: Record | WaitingAnswer) -> str | None:
    """What names the ruling of judges on this answer (`ruling_key`); `None` where no judge ruled."""
    return (record["details"].get("score") or {}).get("ruling")


def _score(record: Record | WaitingAnswer) -> Mapping[str, Any] | None:
    """The score that the answer has, as the fields of one, and its scorer; `None` where it has none."""
    if record.get("score") is None:
        return None
    told = cast("Record", record)
    return {
        "name": told["scorer"],
        "version": told["scorer_version"],
        "value": told["score"],
        "verdict": told["outcome"],
        "answer": told["answer"],
        "why": told["why"],
        "details": told["details"].get("score", {}),
    }


def _again(told: Mapping[str, Any]) -> Again:
    error = ModelError(told["error"]["kind"], told["error"]["message"]) if told["error"] else None
    return Again(told["how"], Response(text=told["text"], finish_reason=told["finish_reason"], error=error))
