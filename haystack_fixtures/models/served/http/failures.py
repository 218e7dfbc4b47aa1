"""What can go wrong between a request and its answer, in three kinds and in words."""

from __future__ import annotations


class UnreachableError(Exception):
    """Nobody takes connections there, or not with this encryption."""


class HangUpError(Exception):
    """The connection ended before the answer did. `begun`: the head of the answer had come."""

    def __init__(self, why: str, *, begun: bool = False) -> None:
        super().__init__(why)
        self.begun = begun


class UnreadableError(Exception):
    """What came back is no HTTP answer, or is packed in a way that cannot be undone."""


def reason(error: Exception) -> str:
    """What a socket or `http.client` raised, in words."""
    if isinstance(error, TimeoutError):
        return "no connection in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
