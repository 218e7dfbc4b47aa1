"""How the requests of a run were sent, in sentences: what a time of them has in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from needlework.haystack_fixtures.settings.settings import Settings

_HERE = ("smollm2", "hf", "gguf")
_SLOTS = "server total_slots"


def sending_notes(settings: Settings, manifest: Mapping[str, Any] | None) -> Iterator[str]:
    """A sentence for models on this machine, and one for servers that were asked several requests at once.

    A server that tells its slots (llama.cpp) is asked no more than that; others queue what is too much for them.
    """
    kinds = {spec.partition(":")[0] for spec in settings.model}
    if kinds & set(_HERE):
        yield "a model on this machine works on prompts together: a time is one prompt's share of that of all"
    if not kinds - {*_HERE, "mock"} or settings.concurrency < 2:
        return
    told = (manifest or {}).get("models")
    facts = [each for each in told.values() if isinstance(each, Mapping)] if isinstance(told, Mapping) else []
    slots = min((int(each[_SLOTS]) for each in facts if str(each.get(_SLOTS, "")).isdecimal()), default=0)
    if 0 < slots < settings.concurrency:
        yield f"the server works on {slots} at once and was asked no more (--concurrency {settings.concurrency})"
    else:
        yield (
            f"up to {settings.concurrency} requests at once (--concurrency): a time has the wait in the server's queue"
            " in it; --concurrency 1 measures a request alone"
        )
