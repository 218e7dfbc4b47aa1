"""What a failed attempt means: its kind, and whether and when to try again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from haystack_fixtures.models.model import ErrorKind
from haystack_fixtures.models.served_reply import DroppedError, MalformedError, ServerSaidError, TooSlowError

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 60.0
LONGEST_RETRY_AFTER_S = 300.0

_TOO_LONG = ("context_length", "context length", "context size", "maximum context", "exceed_context", "too many tokens")
_FILTERED = ("content_filter", "content_policy", "moderation")
_NO_QUOTA = ("insufficient_quota", "billing_hard_limit")


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed attempt. `filtered`: no fault of ours or theirs, the server refused to answer this prompt."""

    kind: ErrorKind
    message: str
    retry: bool = False
    fatal: bool = False
    filtered: bool = False
    retry_after_s: float | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True)
class HttpError:
    """A response with an error status, free of any client library."""

    status: int
    body: object = field(default=None)
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def fault_of_status(error: HttpError) -> Fault:
    """Classify a status with its body."""
    status = error.status
    said = _said(error)
    words = f"{said} {error.text}".lower()
    shown = f"HTTP {status}: {said}"
    if status in (400, 403) and any(word in words for word in _FILTERED):
        return Fault("client", f"content filter: {shown}", filtered=True, status=status)
    if status in (401, 403) or any(word in words for word in _NO_QUOTA):
        return Fault("client", f"the server refuses the key: {shown}", fatal=True, status=status)
    if status == 404:
        return Fault("client", f"no such model or address: {shown}", fatal=True, status=status)
    if status == 429:
        wait = retry_after(error.headers)
        soon = wait is None or wait <= LONGEST_RETRY_AFTER_S
        return Fault("rate_limit", shown, retry=soon, retry_after_s=wait, status=status)
    if status in (408, 504):
        return Fault("timeout", shown, retry=True, retry_after_s=retry_after(error.headers), status=status)
    if status in (400, 413, 422, 500) and any(sign in words for sign in _TOO_LONG):
        return Fault("client", f"context too long: {shown}", status=status)
    if status >= 500 or status in (409, 425):
        return Fault("server", shown, retry=status != 501, retry_after_s=retry_after(error.headers), status=status)
    return Fault("client", shown, status=status)


def fault_of_reply(error: Exception) -> Fault | None:
    """Classify what reading a reply raised; `None` for anything else."""
    if isinstance(error, ServerSaidError):
        return fault_of_status(HttpError(error.status or 500, error.body, str(error)))
    if isinstance(error, MalformedError):
        return Fault("protocol", str(error))
    if isinstance(error, TooSlowError):
        return Fault("timeout", str(error), retry=True)
    if isinstance(error, DroppedError):
        return Fault("server", str(error), retry=True)
    return None


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that the server asks us to wait, by `Retry-After` (seconds or a date) or `retry-after-ms`."""
    given = {name.lower(): value.strip() for name, value in headers.items()}
    try:
        if "retry-after-ms" in given:
            return max(0.0, float(given["retry-after-ms"]) / 1000)
        if "retry-after" not in given:
            return None
        return max(0.0, float(given["retry-after"]))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(given.get("retry-after", ""))
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def delay_s(fault: Fault, failures: int, jitter: random.Random) -> float:
    """How long to wait after so many failures (1 = the first): doubling, spread by a half either way.

    Never less than the server asks for.
    """
    backoff = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (failures - 1)) * jitter.uniform(0.5, 1.5)
    return backoff if fault.retry_after_s is None else fault.retry_after_s + FIRST_DELAY_S * jitter.random()


def _said(error: HttpError) -> str:
    """The server's own words, short."""
    body: Any = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        parts = [str(inner[name]) for name in ("message", "detail", "code", "type") if inner.get(name)]
        text = ", ".join(dict.fromkeys(parts))
    else:
        text = str(inner) if inner else error.text
    return " ".join(text.split())[:300]
