"""Faults of a server's accounts: what `usage` tells of a prompt that was read as it should be, or was not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.faults.answering import Say
from tests.faults.pipeline import usage
from tests.faults.turns import Said, Turn


def counted(make: Callable[[int, int, Turn], dict[str, Any] | None]) -> Say:
    """Another account of the same answer; `make` gets the true counts of prompt and completion."""

    def say(said: Said, turn: Turn) -> Said:
        spent = said.usage["completion_tokens"] if said.usage else 0
        return replace(said, usage=make(len(turn.ids), spent, turn))

    return say


def uncached(prompt: int, completion: int, turn: Turn) -> dict[str, Any]:
    """Only what was computed anew; what a prefix cache held is told beside it."""
    with turn.session.lock:
        shared = max((_common(turn.ids, old) for old in turn.session.prompts), default=0) // 16 * 16
        turn.session.prompts.append(turn.ids)
    shared = min(shared, prompt - 1)
    return usage(prompt - shared, completion) | {"prompt_tokens_details": {"cached_tokens": shared}}


def _common(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def before_truncation(_prompt: int, completion: int, turn: Turn) -> dict[str, Any]:
    """What came, not what was left of it."""
    return usage(turn.count(turn.rendered()), completion)


def estimated(_prompt: int, completion: int, turn: Turn) -> dict[str, Any]:
    """Four characters a token, as proxies guess it."""
    return usage(len(turn.rendered()) // 4, completion)


def cache_apart(prompt: int, completion: int, _turn: Turn) -> dict[str, Any]:
    """What was written into a cache is told beside the rest, and not counted with it."""
    return usage(7, completion) | {"cache_creation_input_tokens": prompt - 7, "cache_read_input_tokens": 0}
