"""What a client library raises, in the terms of any other server's faults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from needlework.haystack_fixtures.models.served.errors import Fault, HttpError, fault_of, fault_of_status
from needlework.haystack_fixtures.models.served.reading.fields import table_of

# A stream that had begun with status 200 names its fault by type alone (Anthropic's "Errors" page).
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_TIMEOUTS = ("Timeout",)
_UNREACHABLE = ("ConnectError", "ConnectTimeout", "UnsupportedProtocol", "ProxyError")
_HUNG_UP = ("NetworkError", "ProtocolError", "StreamError", "APIConnectionError")


def fault_of_client(error: Exception, too_long: re.Pattern[str] | None, *, begun: bool) -> Fault:
    """Classify what a client raised. `begun`: something of the answer had come."""
    known = fault_of(error, too_long)
    if known is not None:
        return known
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if isinstance(status, int):
        return _of_status(error, status, too_long)
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    names = [each.__name__ for each in (*type(error).__mro__, *type(cause).__mro__)]
    said = f"{type(cause).__name__}: {cause}"
    if _is(names, _UNREACHABLE):
        return Fault("server", f"no connection: {said}", retry=True, sign="gone")
    if _is(names, _TIMEOUTS):
        return Fault("timeout", "no answer in time (see --timeout)", retry=True, sign="slow")
    if _is(names, _HUNG_UP):
        sign, words = ("broken", said) if begun else ("gone", f"no answer: {said}")
        return Fault("server", words, retry=True, sign=sign)  # type: ignore[arg-type]  # both are signs
    # What no client has a name for: an answer that it cannot read.
    return Fault("protocol", said, retry=True, sign="broken")


def _is(names: list[str], words: tuple[str, ...]) -> bool:
    return any(word in name for name in names for word in words)


def _of_status(error: Exception, status: int, too_long: re.Pattern[str] | None) -> Fault:
    body: Any = getattr(error, "body", None) or getattr(error, "details", None)
    inner = table_of(table_of(body).get("error"))
    inside = status == 200
    if inside:
        status = _STATUS_OF_TYPE.get(str(inner.get("type")), 500)
    if "API_KEY_INVALID" in str(body) or "API key not valid" in str(body):  # Google says so with 400
        status = 401
    headers: Mapping[str, str] = dict(getattr(getattr(error, "response", None), "headers", None) or {})
    waits = re.search(r"retryDelay\W+([0-9.]+)s", json.dumps(body, default=str))  # Google's `RetryInfo`
    if waits and not any(name.lower() == "retry-after" for name in headers):
        headers = {**headers, "retry-after": waits[1]}
    fault = fault_of_status(HttpError(status, body, str(error), headers, inside), too_long)
    return replace(fault, status=status)
