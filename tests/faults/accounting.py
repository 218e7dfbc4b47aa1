"""Faults of a server's accounts: what `usage` tells of a prompt that was read as it should be, or was not."""

from dataclasses import replace

from tests.faults.pipeline import usage


def counted(make):
    """Another account of the same answer; `make` gets the true counts of prompt and completion."""

    def say(said, turn):
        spent = said.usage["completion_tokens"] if said.usage else 0
        return replace(said, usage=make(len(turn.ids), spent, turn))

    return say


def uncached(prompt, completion, turn):
    """Only what was computed anew; what a prefix cache held is told beside it."""
    with turn.session.lock:
        shared = max((_common(turn.ids, old) for old in turn.session.prompts), default=0) // 16 * 16
        turn.session.prompts.append(turn.ids)
    shared = min(shared, prompt - 1)
    return usage(prompt - shared, completion) | {"prompt_tokens_details": {"cached_tokens": shared}}


def _common(left, right):
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def before_truncation(_prompt, completion, turn):
    """What came, not what was left of it."""
    return usage(turn.count(turn.rendered()), completion)


def estimated(_prompt, completion, turn):
    """Four characters a token, as proxies guess it."""
    return usage(len(turn.rendered()) // 4, completion)


def cache_apart(prompt, completion, _turn):
    """What was written into a cache is told beside the rest, and not counted with it."""
    return usage(7, completion) | {"cache_creation_input_tokens": prompt - 7, "cache_read_input_tokens": 0}
