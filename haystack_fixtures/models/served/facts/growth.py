"""Whether a server's counts grow with the prompts: how one is caught that cuts prompts, where ours are approximate."""

from __future__ import annotations

import threading

from needlework.haystack_fixtures.models.model import Response


def tokens_read(ours: int, response: Response) -> int:
    """Tokens that the server has read of a prompt of `ours`: some leave out of `usage` what stood in their cache."""
    served = response.prompt_tokens or 0
    whole = served + (response.cached_tokens or 0)
    return min(served, whole, key=lambda tokens: abs(tokens - ours))


_LEAST = 0.02  # share by which one prompt must be longer than another before equal counts say something
_ALIKE = 2  # tokens; counts that differ by no more are the same


class Growth:
    """What a server has counted so far. May be used from many threads at once.

    A prompt that is surely longer than another, by more than both counts may be off, and for which the server counts no
    more tokens, was cut: the server has a window that it does not tell of. The first of such prompts proves nothing by
    itself; of two that were cut to one size the longer one is told.
    """

    def __init__(self, error: float) -> None:
        """`error`: the share by which our counts may be off."""
        self._lock = threading.Lock()
        self._surely = 1 + max(_LEAST, 3 * error)
        self._counts: dict[int, int] = {}

    def problem(self, ours: int, response: Response) -> str:
        """Why the server has read less than this prompt of `ours` tokens; empty where nothing says so."""
        if response.prompt_tokens is None:
            return ""
        served = tokens_read(ours, response)
        with self._lock:
            shorter = [
                (tokens, counted)
                for tokens, counted in self._counts.items()
                if ours > self._surely * tokens and served <= counted + _ALIKE
            ]
            self._counts[ours] = min(served, self._counts.get(ours, served))
        if not shorter:
            return ""
        tokens, counted = max(shorter)
        return f"the server counted {served} tokens of a prompt of about {ours}, and {counted} of one of about {tokens}"
