"""How a server is reached: address, key, model arguments; names of fields by dialect."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from needlework.core.errors import InputError
from needlework.core.redact import named_secrets
from needlework.models.model import bool_arg, check_known, choice_arg, float_arg, int_arg, json_arg

if TYPE_CHECKING:
    from needlework.models.served.batch_files import AnswerFiles


@dataclass(frozen=True)
class ServerOptions:
    """The options that say how to reach a server; it holds names of secrets, never the secrets.

    `api_key_env` names the environment variable with the key. `headers_env` names one that holds extra headers as a
    JSON object. `timeout_s` is for one attempt with a short prompt (it grows with the prompt). `retries` counts the
    attempts after the first. `concurrency`: requests in flight at once, of this process. `strict_model`: answers of
    another model than the one under test do not count. `too_long_pattern`: how this server says that a prompt does not
    fit, where its words are not known here. `workers`: processes that ask this server at the same time. `batch`:
    nobody is asked: requests are written to files, or `answers` are read from some. `ended`: says why a server that the
    run has started cannot come back, empty while it may. `tell`: is given a line for who waits, at once, in threads.
    `pausing`: is told 1 when a request begins to pause before it is tried again, and -1 when it goes on; in threads.
    """

    base_url: str | None = field(default=None, repr=False)  # may carry a user and password
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    retries: int = 5
    headers_env: str | None = None
    concurrency: int = 8
    strict_model: bool = False
    too_long_pattern: re.Pattern[str] | None = None
    workers: int = 1
    batch: bool = False
    answers: AnswerFiles | None = None
    ended: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    tell: Callable[[str], object] | None = field(default=None, repr=False, compare=False)
    pausing: Callable[[int], object] | None = field(default=None, repr=False, compare=False)


def is_loopback(url: str) -> bool:
    """Whether a URL points at this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def is_usable(url: str) -> bool:
    """Whether this is an HTTP address at all."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:  # a bracket that is not closed, a port that is no number
        return False


def shown_url(url: str) -> str:
    """What of a URL that nobody can use may be shown: nothing before an `@`, nothing of a query."""
    return re.split(r"[?#&;=]", url.rpartition("@")[2])[0]


KNOWN = (
    "azure_api_version",
    "azure_deployment",
    "extra_body",
    "max_tokens_field",
    "proxy",
    "seed",
    "stream",
    "temperature",
    "thinking_field",
    "window",
)
_HEADER = "header."
_OPENAI = "https://api.openai.com/v1"
_NO_KEY = "none"  # what local servers are sent, which want no key


@dataclass(frozen=True, slots=True)
class ServedOptions:
    """What `--model-arg` says about a served model.

    `temperature` is `None` where none is to be sent (some reasoning models refuse it). `max_tokens_field` is `None`
    where the server may teach us. `thinking_field` names the field that takes the thinking budget, `a.b` for one in a
    table; there is no standard, and none is sent without it. `headers` and `proxy` may hold secrets and are not shown.
    """

    temperature: float | None = 0.0
    seed: int | None = None
    stream: bool = True
    max_tokens_field: str | None = None
    window: int | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict, repr=False)
    thinking_field: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxy: str | None = field(default=None, repr=False)
    azure_api_version: str | None = None
    azure_deployment: str | None = None

    def decoding(self) -> str:
        """How tokens are chosen, in words, for the model's identity."""
        parts = ["temperature=default" if self.temperature is None else f"temperature={self.temperature:g}"]
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        if self.extra_body:
            parts.append(f"extra_body={json.dumps(self.extra_body, sort_keys=True)}")
        if self.thinking_field:
            parts.append(f"thinking_field={self.thinking_field}")
        return ", ".join(parts)

    def fields(self, thinking_budget: int) -> dict[str, object]:
        """What goes into a request beside the usual fields: `extra_body`, and the thinking budget if there is one."""
        if self.thinking_field is None or not thinking_budget:
            return dict(self.extra_body)
        return _with(self.extra_body, self.thinking_field.split("."), thinking_budget)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is and the key for it; the key is not shown."""

    base_url: str = field(repr=False)
    key: str = field(repr=False)
    loopback: bool

    @property
    def secret(self) -> str | None:
        """The key, if there is one."""
        return None if self.key == _NO_KEY else self.key

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own service."""
        return urlsplit(self.base_url).hostname == urlsplit(_OPENAI).hostname


def served_options(args: Mapping[str, str], connection: ServerOptions) -> ServedOptions:
    """Read the arguments; an unknown name or a value of the wrong type raises `InputError`."""
    check_known(args, KNOWN, prefixes=(_HEADER,))
    send_temperature = args.get("temperature") != "none"
    temperature = float_arg(args, "temperature", 0.0) if send_temperature else None
    if "azure_deployment" in args and "azure_api_version" not in args:
        raise InputError("--model-arg azure_deployment", args["azure_deployment"], "give azure_api_version too")
    proxy = args.get("proxy")
    if proxy is not None and not is_usable(proxy):
        raise InputError("--model-arg proxy", shown_url(proxy), "use an address such as http://proxy:3128")
    headers = _headers_of_environment(connection.headers_env)
    headers |= {
        name[len(_HEADER) :]: header_value(name, value) for name, value in args.items() if name.startswith(_HEADER)
    }
    extra_body = json_arg(args, "extra_body") or {}
    thinking_field = args.get("thinking_field")
    if thinking_field is not None and not _fits(extra_body, thinking_field.split(".")):
        remedy = (
            "name a field of the request, such as thinking_budget or reasoning.max_tokens, that extra_body leaves free"
        )
        raise InputError("--model-arg thinking_field", thinking_field, remedy)
    return ServedOptions(
        temperature=0.0 if send_temperature and temperature is None else temperature,
        seed=int_arg(args, "seed", 0),
        stream=bool_arg(args, "stream", True),
        max_tokens_field=choice_arg(args, "max_tokens_field", ("max_tokens", "max_completion_tokens")),
        window=int_arg(args, "window", 1),
        extra_body=extra_body,
        thinking_field=thinking_field,
        headers=headers,
        proxy=proxy,
        azure_api_version=args.get("azure_api_version"),
        azure_deployment=args.get("azure_deployment"),
    )


def address(connection: ServerOptions, azure: bool) -> Address:
    """The server and its key. A server on this machine needs no key."""
    url = connection.base_url or os.environ.get("OPENAI_BASE_URL") or ("" if azure else _OPENAI)
    if not is_usable(url):
        raise InputError("--base-url", shown_url(url), "use an address such as http://127.0.0.1:8000/v1")
    loopback = is_loopback(url)
    key = os.environ.get(connection.api_key_env, "").strip()
    if not key and not loopback:
        remedy = f"no key for {shown_url(url)}: set this variable, name another, or another server: --base-url URL"
        raise InputError("--api-key-env", connection.api_key_env, remedy)
    return Address(url, key or _NO_KEY, loopback)


def check_for_batch(options: ServedOptions) -> None:
    """Refuse what must not, or cannot, stand in a batch file. Raises `InputError`."""
    for header in options.headers:
        raise InputError("--model-arg", f"header.{header}", "no header goes into a batch file: leave it out")
    if any(named_secrets(options.extra_body)):
        remedy = "has a field whose name says that it is secret, and a batch file would show it: leave it out"
        raise InputError("--model-arg", "extra_body", remedy)


def _fits(body: Mapping[str, object], path: list[str]) -> bool:
    """Whether a field can be put there: names are words, and nothing else stands in the way."""
    first, *rest = path
    inner = body.get(first)
    if not rest:
        return bool(first.strip()) and first not in body
    return bool(first.strip()) and (inner is None or isinstance(inner, Mapping)) and _fits(inner or {}, rest)


def _with(body: Mapping[str, object], path: list[str], value: object) -> dict[str, object]:
    first, *rest = path
    inner = body.get(first)
    return {**body, first: _with(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value}


def header_value(option: str, value: str) -> str:
    """A header's value: as written, or `ENV:NAME` for what an environment variable holds. It is never shown."""
    name = re.match(r"[\w!#$%&'*+.^`|~-]*", option)
    if name is None or name[0] != option or option == _HEADER:
        raise InputError("--model-arg", name and name[0], "is no header's name; write header.NAME=VALUE")
    if not value.isprintable():
        raise InputError("--model-arg", option, "its value has characters that no header can have")
    if not value.startswith("ENV:"):
        return value
    variable = value.removeprefix("ENV:")
    if variable not in os.environ:
        raise InputError(f"--model-arg {option}", value, f"set the environment variable {variable}")
    return os.environ[variable].strip()


def _headers_of_environment(name: str | None) -> dict[str, str]:
    if name is None:
        return {}
    try:
        given = json.loads(os.environ[name])
    except (KeyError, ValueError):
        given = None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        remedy = 'set this environment variable to a JSON object of headers, such as {"X-Team": "a"}'
        raise InputError("headers", name, remedy)
    return {str(header): value for header, value in given.items()}


# The same text may come under two of these names: the first one counts. DeepSeek and older vLLM; vLLM, OpenRouter;
# Ollama; OpenRouter's and LiteLLM's lists of blocks.
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_text", "reasoning_details", "thinking_blocks")
_FINISH = {
    "stop": ("stop", "eos", "eos_token", "end_turn", "end", "stop_sequence", "stop_token", "complete", "completed"),
    "length": (
        "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "max_length", "model_length",
        "token_limit", "incomplete", "model_context_window_exceeded", "continuation",
    ),
    "content_filter": (
        "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
        "sensitive", "refusal", "guardrail_intervened", "model_armor", "jailbreak",
    ),
}  # fmt: skip
_FINISH_OF = {word: meaning for meaning, words in _FINISH.items() for word in words}
# The server says itself that what it sent is not the whole answer.
_GAVE_UP = {
    "abort", "aborted", "cancelled", "canceled", "error", "failed", "network_error", "timeout",
    "insufficient_system_resource", "engine_overloaded",
}  # fmt: skip

_MOST = 10**12  # tokens; whatever is more is no count


def finish_of(word: Any) -> str:
    """`stop`, `length`, `content_filter`, `missing`, or the server's own word where we know none for it."""
    said = str(word).strip()
    return _FINISH_OF.get(said.lower(), said) if word else "missing"


def gave_up(finish: str) -> bool:
    """Whether a finish reason says that the server stopped before the model did."""
    return finish.lower() in _GAVE_UP


def said_and_thought(choice: Mapping[str, Any]) -> tuple[str, str]:
    """(answer text, reasoning) of one choice, whole or a stream's next piece.

    A refusal that has a field of its own is what the model says.
    """
    delta = choice.get("delta")
    # A stream's last event may repeat the whole message beside an empty delta.
    message = delta if isinstance(delta, dict) else choice.get("message")
    if not isinstance(message, dict):
        return _content(choice.get("text"))
    text, thought = _content(message.get("content"))
    text = text or _content(message.get("refusal"))[0]
    named = next((found for name in _REASONING if (found := _all_text(message.get(name)))), "")
    return text, named or thought


def prompt_count(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    """The server's count of the prompt's tokens; 0 is no count (older Ollama, where all of it was cached)."""
    named = (usage.get(name) for name in ("prompt_tokens", "input_tokens", "prompt_eval_count"))
    found = next((number for value in named if (number := count(value))), None)
    if found is None and count(timings.get("prompt_n")) is not None:  # llama.cpp
        found = (count(timings.get("prompt_n")) or 0) + (count(timings.get("cache_n")) or 0)
    return found or None


def completion_count(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    """The server's count of what the model wrote, reasoning included."""
    named = (usage.get(name) for name in ("completion_tokens", "output_tokens", "eval_count"))
    return next(
        (number for value in (*named, timings.get("predicted_n")) if (number := count(value)) is not None), None
    )


def reasoning_count(usage: Mapping[str, Any]) -> int | None:
    """How much of the completion was reasoning, where the server tells."""
    named = (
        table_of(usage.get("completion_tokens_details")).get("reasoning_tokens"),
        table_of(usage.get("output_tokens_details")).get("reasoning_tokens"),
        usage.get("reasoning_tokens"),
    )
    return next((number for value in named if (number := count(value)) is not None), None)


def cached_count(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    """Prompt tokens that came from the server's cache."""
    named = (
        table_of(usage.get("prompt_tokens_details")).get("cached_tokens"),
        table_of(usage.get("input_tokens_details")).get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),  # DeepSeek
        usage.get("cache_read_input_tokens"),  # Anthropic and gateways to it
        usage.get("cached_tokens"),
        timings.get("cache_n"),  # llama.cpp
    )
    return next((number for value in named if (number := count(value)) is not None), None)


def count(value: Any) -> int | None:
    """A number of tokens, `None` for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return int(value)


def table_of(value: Any) -> dict[str, Any]:
    """A JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _content(content: Any) -> tuple[str, str]:
    """(text, reasoning) of a message's content: a string, a number, nothing, or typed blocks."""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, int | float) and not isinstance(content, bool):
        return str(content), ""
    text: list[str] = []
    reasoning: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, dict):
            said = str(block.get("type", "text")) in ("text", "output_text", "refusal")
            (text if said else reasoning).append(_all_text(block))
        elif isinstance(block, str):
            text.append(block)
    return "".join(text), "".join(reasoning)


def _all_text(value: Any) -> str:
    """The text of a field that holds a string, a block, or a list of them; encrypted blocks have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_all_text(each) for each in value)
    if isinstance(value, dict):
        names = ("text", "thinking", "reasoning", "content", "summary", "refusal")
        return next((found for name in names if (found := _all_text(value.get(name)))), "")
    return ""


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
_TOO_LARGE = 413


def says_too_long(status: int, words: str, own: re.Pattern[str] | None = None) -> bool:
    """Whether an error with this HTTP status and these words (lower case) is about the length of the prompt.

    `own`: `--too-long-pattern`, for a server whose words are not known here.
    """
    if own is not None and own.search(words):
        return True
    if status not in (400, 413, 422, 500) or _OF_RATE.search(words):
        return False
    if _NAMED.search(words) or status == _TOO_LARGE:
        return True
    bounded = _BOUNDED.search(words) and _OF_TEXT.search(words)
    return status != 500 and bool(bounded) and not _OF_ANSWER.search(words)
