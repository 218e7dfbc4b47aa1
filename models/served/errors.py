"""What a failed attempt means: HTTP statuses, broken connections, addresses and proxies."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from needlework.core.redact import without_credentials
from needlework.models.model import ErrorKind, Response
from needlework.models.served.limiter import REFUSED_S, UNANSWERED_S, Sign
from needlework.models.served.reply import DroppedError, MalformedError, ServerSaidError

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 30.0
LONGEST_RETRY_AFTER_S = 300.0
_EPOCH_S = 1e9  # seconds; a `Retry-After` above it counts from 1970

_BUSY = (429, 503, 529)  # 529: Anthropic's and others' "overloaded"
_DOWN = (502, 521, 522, 523, 530)  # what a gateway says for a server that it cannot reach
_SLOW = (408, 504, 524)
_TOO_LARGE = ("request too large",)  # OpenAI says so with 429 where one prompt is over the limit for a minute
_FILTERED = (
    "content_filter", "content_policy", "moderation", "content management policy", "responsibleaipolicyviolation",
    "data_inspection_failed", "datainspectionfailed", "prohibited_content", "sensitive content",
)  # fmt: skip
_BAD_KEY = (
    "insufficient_quota", "billing_hard_limit", "credit balance is too low", "api_key_invalid", "api key not valid",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AttemptFault:
    """One failed attempt. `filtered`: no fault of ours or theirs, the server refused to answer this prompt.

    `sign`: what it says about the server. `fatal`: every further request would end the same way. `too_long`: the
    prompt does not fit the window. `alone`: the next try must be the only request in flight.
    """

    kind: ErrorKind
    message: str
    retry: bool = False
    sign: Sign = "answered"
    fatal: bool = False
    filtered: bool = False
    too_long: bool = False
    alone: bool = False
    retry_after_s: float | None = None
    status: int | None = None


AttemptResult = Response | AttemptFault
"""What came of one attempt: the answer, or why there is none."""


@dataclass(frozen=True, slots=True)
class HttpError:
    """A response with an error status, free of any client library. `inside`: the status came in a successful answer."""

    status: int
    body: object = field(default=None)
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    inside: bool = False

    @property
    def shown(self) -> str:
        """The status and the server's own words, as they came."""
        said = _said(self) or "without a word"
        return f"HTTP 200 with an error inside: {said}" if self.inside else f"HTTP {self.status}: {said}"


_RETRY_DELAY = re.compile(r"retryDelay\W+(\d+(?:\.\d+)?)s")  # Google's `RetryInfo`
_ENDPOINT = re.compile(r"/(?:chat/)?completions/?(?=$|[?#])")  # what a base URL has behind it in a request


def fault_of_status(error: HttpError, too_long: re.Pattern[str] | None = None) -> AttemptFault:
    """Classify a status with its body. `too_long`: the user's own pattern for a prompt that does not fit."""
    status, shown = error.status, error.shown
    words = f"{_said(error)} {error.text}".lower()
    wait_s = retry_after(error.headers, error.text)
    if (status in (400, 403, 422, 451) or error.inside) and any(word in words for word in _FILTERED):
        return AttemptFault("client", f"content filter: {shown}", filtered=True, status=status)
    if status in (401, 403) or any(word in words for word in _BAD_KEY):
        return AttemptFault("client", f"the server refuses the key: {shown}", fatal=True, status=status)
    if status == 402:
        return AttemptFault("client", f"the server wants money: {shown}", fatal=True, status=status)
    if status == 404:
        return AttemptFault("client", f"no such model or address: {shown}", fatal=True, status=status)
    if 300 <= status < 400:
        return _redirected(error)
    if says_too_long(status, words, too_long):
        return AttemptFault("client", f"context too long: {shown}", too_long=True, status=status)
    if status == 429 and any(sign in words for sign in _TOO_LARGE):
        return AttemptFault("client", shown, status=status)
    if status in _BUSY:
        kind: ErrorKind = "rate_limit" if status == 429 else "server"
        if wait_s is not None and wait_s > LONGEST_RETRY_AFTER_S:
            message = f"the server wants to be left alone for {wait_s / 60:.0f} minutes: {shown}"
            return AttemptFault(kind, message, sign="busy", fatal=True, retry_after_s=wait_s, status=status)
        return AttemptFault(kind, shown, retry=True, sign="busy", retry_after_s=wait_s, status=status)
    if status in _SLOW:
        return AttemptFault("timeout", shown, retry=True, sign="slow", retry_after_s=wait_s, status=status)
    if status >= 500 or status in (409, 425):
        sign: Sign = "down" if status in _DOWN else "broken"
        return AttemptFault("server", shown, retry=status != 501, sign=sign, retry_after_s=wait_s, status=status)
    return AttemptFault("client", shown, status=status)


def _redirected(error: HttpError) -> AttemptFault:
    location = {name.lower(): value for name, value in error.headers.items()}.get("location", "another address")
    # What stands before an `@` or in a query may be secret.
    base = _ENDPOINT.sub("", without_credentials(location.partition("#")[0].partition("?")[0]))
    message = f"HTTP {error.status}: the server sends us on to {base}: give that as --base-url"
    return AttemptFault("client", message, fatal=True, status=error.status)


def fault_of(error: Exception, too_long: re.Pattern[str] | None = None, waited_s: float = 0.0) -> AttemptFault:
    """Classify what sending a request or reading its answer raised, after `waited_s` seconds."""
    match error:
        case ServerSaidError():
            return fault_of_status(HttpError(error.status or 500, error.body, str(error), inside=True), too_long)
        case MalformedError() | UnreadableError():
            return AttemptFault("protocol", str(error), retry=True, sign="broken")
        case TooSlowError():
            return AttemptFault("timeout", str(error), retry=True, sign="late")
        case TimeoutError():
            return AttemptFault("timeout", f"no answer in {waited_s:.3g} s (see --timeout)", retry=True, sign="slow")
        case UnreachableError():
            return AttemptFault("server", f"no connection: {error}", retry=True, sign="gone")
        case HangUpError(begun=False):
            return AttemptFault("server", f"no answer: {error}", retry=True, sign="gone")
        case DroppedError() | HangUpError():
            return AttemptFault("server", str(error), retry=True, sign="broken")
        case _:
            return AttemptFault("protocol", f"{type(error).__name__}: {error}")


def crowded(fault: AttemptFault, room: str) -> AttemptFault:
    """A refusal for length of a prompt that has room: the server has none for it beside the others. `room`: why so."""
    message = f"no room for this prompt, though {room}: {fault.message}"
    return replace(fault, kind="server", message=message, too_long=False, retry=True, sign="crowded", alone=True)


def retry_after(headers: Mapping[str, str], text: str = "", now: datetime | None = None) -> float | None:
    """Seconds that the server asks us to wait, by `Retry-After` (seconds, a date or seconds since 1970),
    `retry-after-ms`, or the `text` of its answer.
    """
    fields = {name.lower(): value.strip() for name, value in headers.items()}
    now = now or datetime.now(UTC)
    told = fields.get("retry-after", "")
    if not told and (named := _RETRY_DELAY.search(text)):
        told = named[1]
    try:
        seconds = float(fields["retry-after-ms"]) / 1000 if "retry-after-ms" in fields else float(told)
        if seconds > _EPOCH_S:  # a point in time, as some gateways write it
            seconds -= now.timestamp()
        # No server means an endless wait, nor one of no number of seconds.
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(told)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())


def delay_s(fault: AttemptFault, failures: int, jitter: random.Random) -> float:
    """How long to wait after so many failures (1 = the first): anything up to a bound that doubles ("full jitter").

    Random over the whole width, so that requests that failed together do not come back together (M. Brooker,
    "Exponential Backoff and Jitter", AWS 2015). Never less than the server asks for.
    """
    if fault.retry_after_s:
        return fault.retry_after_s + jitter.uniform(0, FIRST_DELAY_S)
    return jitter.uniform(0, min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(failures - 1, 30)))


@dataclass(slots=True)
class Retries:
    """What one request has spent of its further tries.

    Refusals ("too many requests", "not now") are no faults: they are waited out, for `REFUSED_S` seconds of this
    request's own waiting (`UNANSWERED_S` where a server does nothing but refuse). Nor is it the request's fault when
    nobody is there at all. Everything else counts against `allowed`.
    """

    allowed: int
    failures: int = 0
    counted: int = 0
    refused_s: float = 0.0

    def pause_s(
        self,
        fault: AttemptFault,
        *,
        outage: bool,
        jitter: random.Random,
        never_heard: bool = False,
        has_answered: bool = True,
    ) -> float | None:
        """Seconds to wait before the next try; `None` when there is none. `never_heard`: the server has not shown a
        sign of life yet. It is soon given up, and pauses that grow would outlast that. `has_answered`: any request.
        """
        if not fault.retry:
            return None
        if never_heard and fault.sign == "gone":
            return jitter.uniform(0, FIRST_DELAY_S)
        self.failures += 1
        pause_s = delay_s(fault, self.failures, jitter)
        if fault.sign == "busy":
            self.refused_s += pause_s
            patience_s = REFUSED_S if has_answered or fault.retry_after_s else UNANSWERED_S
            return pause_s if self.refused_s <= patience_s else None
        self.counted += not (outage and fault.sign in ("down", "gone"))
        return pause_s if self.counted <= self.allowed else None


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


class TooSlowError(TimeoutError):
    """The answer had begun and took longer than the time allowed for it."""


class UnreachableError(Exception):
    """Nobody takes connections there, or not with this encryption."""


class HangUpError(Exception):
    """The connection ended before the answer did. `begun`: the head of the answer had come."""

    def __init__(self, why: str, *, begun: bool = False) -> None:
        super().__init__(why)
        self.begun = begun


class UnreadableError(Exception):
    """What came back is no HTTP answer, or is packed in a way that cannot be undone."""


# Sources of the wordings: the servers' own code (vLLM, SGLang, llama.cpp, TGI, TensorRT-LLM, LMDeploy, Ollama,
# TabbyAPI, LM Studio) and public issue threads about hosted services (OpenAI, Azure, Anthropic, Google, Bedrock,
# Mistral, Cohere, Groq, xAI, Moonshot, DashScope, Zhipu, Volcengine, MiniMax, OpenRouter, LiteLLM).

# Where one of these stands, the window is meant.
_NAMED = re.compile(
    r"context[ _-]?(length|size|window|limit|overflow|exceeded)|(exceed\w*|available|over) (the )?context\b"
    r"|exceed_context|context shift is disabled|model'?s? token limit"
    r"|(prompt|input|request|messages?|text|conversation)( tokens?| length)?( is| are|) ?too (long|large to process)"
    r"|too many (input |prompt )?tokens|maximum (number of (input )?tokens|model length|sequence length|prompt length)"
    r"|max_new_tokens` must be|too large to process|reduce the length|range of input length"
    r"|(prompt|input) length[^.]{0,40}exceed|(max_)?(session|seq|model)_len\b|max_input_(len|length)\b"
    r"|input_length_error"
    r"|max(imum)? message tokens|token count[^.]{0,40}exceed"
    r"|超长|(输入|上下文|文本|提示词?|消息|内容|prompt|token)[^。]{0,16}(过长|超过|超出|超限)|(超过|超出)[^。]{0,20}(长度|上下文|token)"
)
# A sentence that holds some size against a bound, where the size is one of text.
_BOUNDED = re.compile(
    r"(prompt|inputs?|messages?|request|sequence|query|text|tokens?|length)\b[^.;]{0,60}?"
    r"(exceed\w*|(long|great|larg)er than|more than|too large|> |(less|fewer|smaller) than|at most|cannot be more"
    r"|out of range|over the)"
    r"[^;]{0,60}?(max|limit|allowed|token|window|length|\d{3,})"
)
_OF_TEXT = re.compile(r"token|length|context|characters|too long")
# About the answer that was asked for, not about the prompt.
_OF_ANSWER = re.compile(
    r"(range of|supports at most [\d,]+)? ?(max_(completion_|output_|new_)?tokens|completion tokens)"
)
# About how much may be asked in a time.
_OF_RATE = re.compile(
    r"per[ _-]?(minute|min|second|hour|day|month)\b|rate[ _-]?limit|quota|\b[tr]p[md]\b|throttl|please wait"
    r"|try again (later|in|after)|每分钟|每日|限流|频率|配额"
)
_OVER = re.compile(r"exceed|too (long|large|many)|longer|larger|greater|more than|disabled|reduce|over the|超|过长")
_BODY_TOO_LARGE, _INTERNAL = 413, 500


def says_too_long(status: int, words: str, own: re.Pattern[str] | None = None) -> bool:
    """Whether an error with this HTTP status and these words (lower case) is about the length of the prompt.

    `own`: `--too-long-pattern`, for a server whose words are not known here.
    """
    if own is not None and own.search(words):
        return True
    if status not in (400, 413, 422, 500) or _OF_RATE.search(words):
        return False
    if status == _INTERNAL:  # servers fail inside for many reasons that name the context
        return bool(_NAMED.search(words) and _OVER.search(words))
    if _NAMED.search(words) or status == _BODY_TOO_LARGE:
        return True
    bounded = _BOUNDED.search(words) and _OF_TEXT.search(words)
    return bool(bounded) and not _OF_ANSWER.search(words)
