"""Clients of providers: arguments, packages, errors, one transport for all."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from needlework.core.errors import InputError
from needlework.core.redact import Redactor, named_secrets, redactor, url_secrets, without_credentials
from needlework.models.event_loop import in_thread
from needlework.models.model import Request, check_known, choice_arg, float_arg, int_arg, json_arg
from needlework.models.served.connection import ServerOptions, header_value, is_loopback, is_usable, shown_url, table_of
from needlework.models.served.errors import (
    AttemptFault,
    AttemptResult,
    HttpError,
    TooSlowError,
    fault_of,
    fault_of_status,
)
from needlework.models.served.http_client import Allowed

Event = TypeVar("Event")


class Clock:
    """When the first piece of an answer came, and whether its time is over."""

    def __init__(self, begun: float, total_s: float) -> None:
        self._begun = begun
        self._deadline = begun + total_s
        self.ttft_s: float | None = None
        self.answered = False

    def timed(self, events: Iterable[Event], says: Callable[[Event], bool]) -> Iterator[Event]:
        """The events; the first that `says` something is the first token. Raises `TooSlowError`."""
        for event in events:
            self.answered = True
            if time.perf_counter() > self._deadline:
                raise TooSlowError("the answer had begun and was not over when its time was (see --timeout)")
            if self.ttft_s is None and says(event):
                self.ttft_s = time.perf_counter() - self._begun
            yield event

    @contextmanager
    def ending(self, close: Callable[[], object]) -> Generator[None]:
        """Close a stream that never ends: a client passes over what only keeps a connection alive."""
        timer = threading.Timer(max(0.0, self._deadline - time.perf_counter()), close)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class SdkTransport(ABC):
    """One model at one provider; `_ask` is each provider's own."""

    def __init__(
        self, provider: Provider, name: str, options: NativeOptions, where: NativeAddress, connection: ServerOptions
    ) -> None:
        self._name = name
        self._options = options
        self._provider = provider
        self._too_long: re.Pattern[str] | None = connection.too_long_pattern
        secrets = [*options.headers.values(), *url_secrets(where.base_url), *named_secrets(options.extra_body)]
        self._redactor = redactor([where.key if where.key != "none" else None, *secrets])
        self._identity: dict[str, str | int | float | None] = {
            "spec": f"{provider.kind}:{name}",
            "server": without_credentials(where.base_url),
            "decoding": self._redactor.clean(options.decoding()),
        }

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        return self._identity

    @property
    def asked(self) -> str:
        return self._name

    @property
    def redactor(self) -> Redactor:
        return self._redactor

    @property
    def dialect(self) -> None:
        return None

    def learn(self, _fault: AttemptFault, _dialect: None) -> bool:
        return False

    def identify(self) -> dict[str, str]:
        return {}

    async def attempt(self, request: Request, _dialect: None, allowed: Allowed, begun: float) -> AttemptResult:
        return await in_thread(lambda: self._attempt(request, allowed, begun))

    def _attempt(self, request: Request, allowed: Allowed, begun: float) -> AttemptResult:
        if request.template != "chat":
            words = f"--template raw: {self._provider.kind}: takes chat messages alone; give --template chat"
            return AttemptFault("client", words, fatal=True)
        refused = self._refused(request)
        if refused:
            return AttemptFault("client", refused, fatal=True)
        clock = Clock(begun, allowed.total_s)
        try:
            return self._ask(request, allowed, clock)
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a client thinks of
            if time.perf_counter() > begun + allowed.total_s:
                message = "the answer was not over when its time was (see --timeout)"
                return AttemptFault("timeout", message, retry=True, sign="late")
            return fault_of_client(error, self._too_long, begun=clock.answered)

    def _refused(self, _request: Request) -> str:
        """Why the provider would take no request like this one; empty where it may."""
        return ""

    @abstractmethod
    def _ask(self, request: Request, allowed: Allowed, clock: Clock) -> AttemptResult:
        """Ask the provider once."""


_HEADER = "header."
_DEFAULT_KEY = ServerOptions().api_key_env
_NO_KEY = "none"  # what servers on this machine are sent


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider's API. `thinking`: how `--model-arg thinking` may be said; the first is what a budget means."""

    kind: str
    base_url: str
    base_url_env: str
    keys: tuple[str, ...]
    known: tuple[str, ...]
    thinking: tuple[str, ...]


ANTHROPIC = Provider(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_BASE_URL",
    ("ANTHROPIC_API_KEY",),
    ("cache", "extra_body", "temperature", "thinking", "window"),
    ("budget", "adaptive", "off"),
)
GOOGLE = Provider(
    "google",
    "https://generativelanguage.googleapis.com",
    "GOOGLE_GEMINI_BASE_URL",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ("extra_body", "seed", "temperature", "thinking", "window"),
    ("budget", "auto", "off"),
)
PROVIDERS = {provider.kind: provider for provider in (ANTHROPIC, GOOGLE)}


@dataclass(frozen=True, slots=True)
class NativeOptions:
    """What `--model-arg` says. `cache`: how long the provider is to keep what stands before the question (`5m`, `1h`).

    `temperature` is `None` where none is sent. `headers` may hold secrets and are not shown.
    """

    temperature: float | None = None
    seed: int | None = None
    window: int | None = None
    cache: str | None = None
    thinking: str | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def decoding(self) -> str:
        """How tokens are chosen, in words, for the model's identity."""
        parts = ["temperature=default" if self.temperature is None else f"temperature={self.temperature:g}"]
        said = {"seed": self.seed, "thinking": self.thinking, "cache": self.cache}
        parts += [f"{name}={value}" for name, value in said.items() if value is not None]
        if self.extra_body:
            parts.append(f"extra_body={json.dumps(self.extra_body, sort_keys=True)}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class NativeAddress:
    """Where the provider is and the key for it; the key is not shown."""

    base_url: str = field(repr=False)
    key: str = field(repr=False)
    loopback: bool


def native_options(provider: Provider, args: Mapping[str, str]) -> NativeOptions:
    """Read the arguments; an unknown name or a value of the wrong type raises `InputError`."""
    check_known(args, provider.known, prefixes=(_HEADER,))
    given = args.get("temperature")
    # Anthropic's client has no such field any more: its newer models refuse one.
    temperature = 0.0 if provider is GOOGLE and given is None else None
    if given is not None and given != "none":
        temperature = float_arg(args, "temperature", 0.0)
    headers = {
        name[len(_HEADER) :]: header_value(name, value) for name, value in args.items() if name.startswith(_HEADER)
    }
    return NativeOptions(
        temperature=temperature,
        seed=int_arg(args, "seed", 0),
        window=int_arg(args, "window", 1),
        cache=None if args.get("cache") == "off" else choice_arg(args, "cache", ("5m", "1h", "off")),
        thinking=choice_arg(args, "thinking", provider.thinking),
        extra_body=json_arg(args, "extra_body") or {},
        headers=headers,
    )


def native_address(provider: Provider, connection: ServerOptions) -> NativeAddress:
    """The provider and its key. A server on this machine needs no key. Raises `InputError`."""
    url = (connection.base_url or os.environ.get(provider.base_url_env) or provider.base_url).rstrip("/")
    if not is_usable(url):
        raise InputError("--base-url", shown_url(url), f"use an address such as {provider.base_url}")
    names = provider.keys if connection.api_key_env == _DEFAULT_KEY else (connection.api_key_env,)
    key = next((found for name in names if (found := os.environ.get(name, "").strip())), "")
    loopback = is_loopback(url)
    if not key and not loopback:
        remedy = "the environment variable with the provider's key is not set; set it or name another"
        raise InputError("--api-key-env", names[0], remedy)
    return NativeAddress(url, key or _NO_KEY, loopback)


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


def fault_of_client(error: Exception, too_long: re.Pattern[str] | None, *, begun: bool) -> AttemptFault:
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
        return AttemptFault("server", f"no connection: {said}", retry=True, sign="gone")
    if _is(names, _TIMEOUTS):
        return AttemptFault("timeout", "no answer in time (see --timeout)", retry=True, sign="slow")
    if _is(names, _HUNG_UP):
        sign, words = ("broken", said) if begun else ("gone", f"no answer: {said}")
        return AttemptFault("server", words, retry=True, sign=sign)  # type: ignore[arg-type]  # both are signs
    # What no client has a name for: an answer that it cannot read.
    return AttemptFault("protocol", said, retry=True, sign="broken")


def _is(names: list[str], words: tuple[str, ...]) -> bool:
    return any(word in name for name in names for word in words)


def _of_status(error: Exception, status: int, too_long: re.Pattern[str] | None) -> AttemptFault:
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


# Package: (module, extra).
_CLIENTS = {
    "anthropic": ("anthropic", "anthropic"),
    "google-genai": ("google.genai", "google"),
    "openai": ("openai", "openai"),
}


def client_package(name: str) -> ModuleType:
    """Import it. Raises `InputError` where it is not installed."""
    module, extra = _CLIENTS[name]
    try:
        return import_module(module)
    except ImportError:
        remedy = f"the package {name} is not installed: pip install 'needlework[{extra}]'"
        raise InputError("--model", f"{extra}:NAME", remedy) from None
