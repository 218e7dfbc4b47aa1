"""Faults of failed attempts: HTTP statuses, broken connections, unreadable replies."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from needlework.core.redact import without_credentials
from needlework.models.model import ModelError, Response

LONGEST_RETRY_AFTER_S = 300.0
_EPOCH_S = 1e9  # seconds; a `Retry-After` above it counts from 1970

Sign = Literal["answered", "broken", "busy", "crowded", "late", "slow", "down", "gone"]
"""What one attempt says about the server.

`answered`: it works, whatever it thinks of the request. `broken`: it answered, wrongly. `busy`: it refuses for now.
`crowded`: it has no room for this request beside the others that it works on. `late`: its answer had begun and was not
over in time. `slow`: nothing came in time. `down`: a gateway says that there is nobody behind it. `gone`: nobody took
the request.
"""


@dataclass(frozen=True, slots=True)
class AttemptFault(ModelError):  # noqa: N818 - no exception
    """The fault of one attempt without an answer."""

    retry: bool = False
    sign: Sign = "answered"
    filtered: bool = False  # no fault of ours or theirs: the server refused to answer this prompt
    retry_after_s: float | None = None
    status: int | None = None


AttemptResult = Response | AttemptFault


@dataclass(frozen=True, slots=True)
class HttpError:
    """A response with an error status, free of any client library."""

    status: int
    body: object = None
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    inside: bool = False  # the status came in a successful answer

    @property
    def words(self) -> str:
        """The server's own words, short."""
        body: Any = self.body
        inner = body.get("error", body) if isinstance(body, dict) else body
        if isinstance(inner, dict):
            parts = [str(inner[name]) for name in ("message", "detail", "code", "type") if inner.get(name)]
            text = ", ".join(dict.fromkeys(parts))
        else:
            text = str(inner) if inner else self.text
        return " ".join(text.split())[:300]


_FILTER_STATUS = (400, 403, 422, 451)
_FILTER_WORDS = (
    "content_filter", "content_policy", "moderation", "content management policy", "responsibleaipolicyviolation",
    "data_inspection_failed", "datainspectionfailed", "prohibited_content", "sensitive content",
)  # fmt: skip
_KEY_WORDS = (
    "insufficient_quota", "billing_hard_limit", "credit balance is too low", "api_key_invalid", "api key not valid",
)  # fmt: skip
_BAD_KEY = AttemptFault("client", "the server refuses the key: ", fatal=True)
_BUSY = AttemptFault("server", "", retry=True, sign="busy")
_SLOW = AttemptFault("timeout", "", retry=True, sign="slow")
_DOWN = AttemptFault("server", "", retry=True, sign="down")  # of a gateway that cannot reach its server
_BROKEN = AttemptFault("server", "", retry=True, sign="broken")
_OF_STATUS = {  # the rest of 500 and above: `_BROKEN`; any other: an error of this request alone
    401: _BAD_KEY,
    402: AttemptFault("client", "the server wants money: ", fatal=True),
    403: _BAD_KEY,
    404: AttemptFault("client", "no such model or address: ", fatal=True),
    **dict.fromkeys((408, 504, 524), _SLOW),
    **dict.fromkeys((409, 425), _BROKEN),
    429: replace(_BUSY, kind="rate_limit"),
    501: replace(_BROKEN, retry=False),
    **dict.fromkeys((502, 521, 522, 523, 530), _DOWN),
    **dict.fromkeys((503, 529), _BUSY),  # 529: Anthropic's and others' "overloaded"
}
_ENDPOINT = re.compile(r"/(?:chat/)?completions/?(?=$|[?#])")  # the end of a request's URL behind the base URL


def fault_of_status(error: HttpError, too_long: re.Pattern[str] | None = None) -> AttemptFault:
    """Classify a status with its body. `too_long`: the user's own pattern for a prompt that does not fit."""
    status, words = error.status, f"{error.words} {error.text}".lower()
    broken = _BROKEN if status >= 500 else AttemptFault("client", "")
    fault = _OF_STATUS.get(status, broken)
    if (status in _FILTER_STATUS or error.inside) and any(word in words for word in _FILTER_WORDS):
        fault = AttemptFault("client", "content filter: ", filtered=True)
    elif fault is not _BAD_KEY and any(word in words for word in _KEY_WORDS):
        fault = _BAD_KEY
    elif 300 <= status < 400:
        location = {name.lower(): value for name, value in error.headers.items()}.get("location", "another address")
        # What stands before an `@` or in a query may be secret.
        base = _ENDPOINT.sub("", without_credentials(location.partition("#")[0].partition("?")[0]))
        message = f"HTTP {status}: the server sends us on to {base}: give that as --base-url"
        return AttemptFault("client", message, fatal=True, status=status)
    elif not fault.fatal and says_too_long(status, words, too_long):
        fault = AttemptFault("client", "context too long: ", too_long=True)
    elif status == 429 and "request too large" in words:  # OpenAI, where one prompt is over the limit for a minute
        fault = AttemptFault("client", "")
    wait_s = retry_after(error.headers, error.text) if fault.retry else None
    message = fault.message
    if fault.sign == "busy" and wait_s is not None and wait_s > LONGEST_RETRY_AFTER_S:
        message = f"the server wants to be left alone for {wait_s / 60:.0f} minutes: "
        fault = replace(fault, retry=False, fatal=True)
    message += "HTTP 200 with an error inside: " if error.inside else f"HTTP {status}: "
    return replace(fault, message=message + (error.words or "without a word"), retry_after_s=wait_s, status=status)


def fault_of(error: Exception, too_long: re.Pattern[str] | None = None, waited_s: float = 0.0) -> AttemptFault:
    """Classify what sending a request or reading its answer raised, after `waited_s` seconds."""
    match error:
        case ServerSaidError():
            return fault_of_status(HttpError(error.status or 500, error.body, str(error), inside=True), too_long)
        case UnreadableError():
            return AttemptFault("protocol", str(error), retry=True, sign="broken")
        case TooSlowError():
            return AttemptFault("timeout", str(error), retry=True, sign="late")
        case TimeoutError():
            return replace(_SLOW, message=f"no answer in {waited_s:.3g} s (see --timeout)")
        case UnreachableError():
            return AttemptFault("server", f"no connection: {error}", retry=True, sign="gone")
        case HangUpError(begun=False):
            return AttemptFault("server", f"no answer: {error}", retry=True, sign="gone")
        case HangUpError():
            return replace(_BROKEN, message=str(error))
        case _:
            return AttemptFault("protocol", f"{type(error).__name__}: {error}")


_RETRY_DELAY = re.compile(r"retryDelay\W+(\d+(?:\.\d+)?)s")  # Google's `RetryInfo`


def retry_after(headers: Mapping[str, str], text: str = "", now: datetime | None = None) -> float | None:
    """Seconds that the server asks us to wait, by `Retry-After` (seconds, a date or seconds since 1970),
    `retry-after-ms`, or the `text` of its answer.
    """
    fields = {name.lower(): value.strip() for name, value in headers.items()}
    now = now or datetime.now(UTC)
    value = fields.get("retry-after", "")
    if not value and (named := _RETRY_DELAY.search(text)):
        value = named[1]
    try:
        seconds = float(fields["retry-after-ms"]) / 1000 if "retry-after-ms" in fields else float(value)
        if seconds > _EPOCH_S:  # a point in time, as some gateways write it
            seconds -= now.timestamp()
        # No server means an endless wait, nor one of no number of seconds.
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())


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
    """The reply is no HTTP answer, cannot be unpacked, or is no answer of a model."""


# A stream that had begun with status 200 names its fault by type alone (Anthropic's "Errors" page).
_STATUS_OF_TYPE = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip


class ServerSaidError(Exception):
    """An error object inside a successful response. `status`: the HTTP status that it names, if any."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message") or error.get("text") or error))
        code = str(error.get("code") or error.get("status"))
        self.status = int(code) if re.fullmatch(r"[3-5]\d\d", code) else _STATUS_OF_TYPE.get(str(error.get("type")))
        self.body = dict(error)


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


def says_too_long(status: int, words: str, pattern: re.Pattern[str] | None = None) -> bool:
    """Whether an error with this HTTP status and words (lower case) is about the prompt's length.

    `pattern`: `--too-long-pattern`, for a server whose words are not known here.
    """
    if pattern is not None and pattern.search(words):
        return True
    if status not in (400, 413, 422, 500) or _OF_RATE.search(words):
        return False
    if status == _INTERNAL:  # servers fail inside for many reasons that name the context
        return bool(_NAMED.search(words) and _OVER.search(words))
    if _NAMED.search(words) or status == _BODY_TOO_LARGE:
        return True
    bounded = _BOUNDED.search(words) and _OF_TEXT.search(words)
    return bool(bounded) and not _OF_ANSWER.search(words)
