"""An answer that stands in the journal, as if it had just come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import ModelError, Response
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.haystack_fixtures.trials.exchange import Again, Exchange

WAITING = "waiting"
"""The outcome of an answer that came before its cell's turn: it is scored for the first time now."""


def replayed(
    cell: Cell,
    series: Series,
    key: str,
    done: Mapping[str, Any],
    *,
    seed: int,
    ask_judge: Callable[[str, str], str] | None,
) -> Exchange:
    """The exchange that the stored record `done` tells of, to be scored again."""
    response, timing, details = done["response"], done.get("timing", {}), done["details"]
    return Exchange(
        cell,
        series.suite,
        series.model,
        key,
        Response(
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
        ),
        question=done["question"],
        reference=done["reference"],
        prompt_facts=done["prompt"],
        invalid=tuple(details.get("invalid", ())),
        flags=tuple(details.get("flags", ())),
        skipped=done["why"] if done["outcome"] == "skipped" else "",
        build_s=timing.get("build_s"),
        seed=seed,
        replayed=done["outcome"] != WAITING,
        again=tuple(
            Again(
                each["how"],
                Response(
                    text=each["text"],
                    finish_reason=each["finish_reason"],
                    error=ModelError(**each["error"]) if each["error"] else None,
                ),
            )
            for each in details.get("stability", ())
        ),
        ask_judge=ask_judge,
    )
