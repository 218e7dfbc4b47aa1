"""What can go wrong between a request and its answer, in three kinds and in words."""

from __future__ import annotations

from http.client import BadStatusLine, HTTPException, IncompleteRead, RemoteDisconnected

from urllib3.exceptions import HTTPError


class UnreachableError(Exception):
    """Nobody takes connections there, or not with this encryption."""


class HangUpError(Exception):
    """The connection ended before the answer did. `begun`: the head of the answer had come."""

    def __init__(self, why: str, *, begun: bool = False) -> None:
        super().__init__(why)
        self.begun = begun


class UnreadableError(Exception):
    """What came back is no HTTP answer, or is packed in a way that cannot be undone."""


def failure(error: HTTPError, *, begun: bool) -> Exception:
    cause = _cause(error)
    if isinstance(cause, TimeoutError):
        return TimeoutError()
    if isinstance(cause, HTTPException) and not isinstance(cause, BadStatusLine | IncompleteRead):
        return UnreadableError(f"the head of the answer cannot be read: {reason(error)}")
    return HangUpError(reason(error), begun=begun)


def is_stale(error: HTTPError) -> bool:
    """Whether the connection had been closed by the other side before a byte of an answer came."""
    return isinstance(_cause(error), RemoteDisconnected | ConnectionResetError | BrokenPipeError)


def reason(error: Exception) -> str:
    cause = _cause(error)
    if isinstance(cause, TimeoutError):
        return "no connection in time"
    if isinstance(cause, IncompleteRead):
        return "the connection was closed in the middle of the answer"
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__


def _cause(error: Exception) -> BaseException:
    """What the library makes its errors of."""
    inner = error.__cause__ or (error.args and error.args[-1])
    return inner if isinstance(inner, BaseException) else error
