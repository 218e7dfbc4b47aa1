"""What can go wrong between a request and its answer, in three kinds and in words."""

from __future__ import annotations

from http.client import BadStatusLine, HTTPException, IncompleteRead, RemoteDisconnected


class UnreachableError(Exception):
    """Nobody takes connections there, or not with this encryption."""


class HangUpError(Exception):
    """The connection ended before the answer did. `begun`: the head of the answer had come."""

    def __init__(self, why: str, *, begun: bool = False) -> None:
        super().__init__(why)
        self.begun = begun


class UnreadableError(Exception):
    """What came back is no HTTP answer, or is packed in a way that cannot be undone."""


def failure(error: Exception, *, begun: bool) -> Exception:
    """What a socket or `http.client` raised, as one of these, or as `TimeoutError`."""
    if isinstance(error, TimeoutError):
        return TimeoutError()
    if isinstance(error, HTTPException) and not isinstance(error, BadStatusLine | IncompleteRead):
        return UnreadableError(f"the head of the answer cannot be read: {reason(error)}")
    return HangUpError(reason(error), begun=begun)


def is_stale(error: Exception) -> bool:
    """Whether the connection had been closed by the other side before a byte of an answer came."""
    return isinstance(error, RemoteDisconnected | ConnectionResetError | BrokenPipeError)


def reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no connection in time"
    if isinstance(error, IncompleteRead):
        return "the connection was closed in the middle of the answer"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
