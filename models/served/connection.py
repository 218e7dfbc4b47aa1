"""The connection to a server: address, key, model arguments."""

from __future__ import annotations

import ipaddress
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from needlework.core.errors import InputError
from needlework.core.options import Parsed, number, one_of
from needlework.core.redact import named_secrets
from needlework.models.model import check_known, json_object, read_args

if TYPE_CHECKING:
    from needlework.models.served.batch import AnswerFiles


@dataclass(frozen=True)
class ServerOptions:
    """Options of a connection; names of secrets, never the secrets."""

    base_url: str | None = field(default=None, repr=False)  # may carry a user and password
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0  # of one attempt with a short prompt; it grows with the prompt
    retries: int = 5  # attempts after the first
    concurrency: int = 8  # requests in flight at once, of this process
    strict_model: bool = False  # answers of another model than the one under test do not count
    too_long_pattern: re.Pattern[str] | None = None  # how it says, in words unknown here, that a prompt does not fit
    heeds_slots: bool = True  # ask no more at once than the server says it works on
    workers: int = 1  # processes that ask this server at the same time
    batch: bool = False  # nobody is asked: requests are written to files, or `answers` are read from some
    answers: AnswerFiles | None = None
    ended: Callable[[], str] | None = field(default=None, repr=False, compare=False)  # why the server is gone
    tell: Callable[[str], object] | None = field(default=None, repr=False, compare=False)  # shows a line; in threads


def allow_open_files() -> None:
    """Let this process open as many files as the system allows: each connection is one."""
    with suppress(ImportError, ValueError, OSError):  # Windows has none of it
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


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
    """The harmless part of an unusable URL: nothing before an `@`, nothing of a query."""
    return re.split(r"[?#&;=]", url.rpartition("@")[2])[0]


_HEADER = "header."
_DEFAULT_KEY_ENV = ServerOptions().api_key_env


@dataclass(frozen=True, slots=True)
class Provider:
    """A kind of API."""

    base_url: str
    url_env: str  # variable with another address
    key_envs: tuple[str, ...]  # variables with the key
    known: tuple[str, ...]  # its names of `--model-arg`
    thinking: tuple[str, ...] = ()  # the values of `--model-arg thinking`


PROVIDERS = {
    "openai": Provider(
        "https://api.openai.com/v1",
        "OPENAI_BASE_URL",
        (_DEFAULT_KEY_ENV,),
        (
            "azure_api_version", "azure_deployment", "extra_body", "max_tokens_field", "proxy", "seed", "stream",
            "temperature", "window",
        ),
    ),
    "anthropic": Provider(
        "https://api.anthropic.com",
        "ANTHROPIC_BASE_URL",
        ("ANTHROPIC_API_KEY",),
        ("cache", "extra_body", "proxy", "temperature", "thinking", "window"),
        ("budget", "adaptive", "off"),
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GEMINI_BASE_URL",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("extra_body", "proxy", "seed", "temperature", "thinking", "window"),
        ("budget", "auto", "off"),
    ),
}  # fmt: skip
PROVIDERS["openai-sdk"] = PROVIDERS["openai"]


_number_from_0 = number(lambda amount: 0 <= amount < math.inf, "use a number from 0 up, or none")


def _temperature(option: str, value: str) -> Parsed:
    return None if value == "none" else _number_from_0(option, value)


def _cache(option: str, value: str) -> str | None:
    word = one_of("5m", "1h", "off")(option, value)
    return None if word == "off" else str(word)


def _proxy(option: str, value: str) -> str:
    if not is_usable(value):
        raise InputError(option, shown_url(value), "use an address such as http://proxy:3128")
    return value


@dataclass(frozen=True, slots=True)
class ServedOptions:
    """The `--model-arg`s of a served model. `headers` and `proxy` may hold secrets and are not shown."""

    temperature: Annotated[float | None, _temperature] = 0.0  # `None`: not sent, as some reasoning models refuse it
    seed: Annotated[int, Meta(ge=0)] | None = None
    stream: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None  # `None`: as the server says
    window: Annotated[int, Meta(ge=1)] | None = None
    extra_body: Annotated[Mapping[str, object], json_object] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxy: Annotated[str | None, _proxy] = field(default=None, repr=False)
    azure_api_version: str | None = None
    azure_deployment: str | None = None
    thinking: str | None = None  # how Claude or Gemini thinks
    cache: Annotated[str | None, _cache] = None  # how long Anthropic keeps what stands before the question: `5m`, `1h`

    def decoding(self) -> str:
        """The decoding parameters in words, for the model's identity."""
        parts = ["temperature=default" if self.temperature is None else f"temperature={self.temperature:g}"]
        named = {"seed": self.seed, "thinking": self.thinking, "cache": self.cache}
        parts += [f"{name}={value}" for name, value in named.items() if value is not None]
        if self.extra_body:
            parts.append(f"extra_body={json.dumps(self.extra_body, sort_keys=True)}")
        return ", ".join(parts)


def served_options(args: Mapping[str, str], kind: str = "openai") -> ServedOptions:
    """Read the arguments; an unknown name or a value of the wrong type raises `InputError`."""
    provider = PROVIDERS[kind]
    check_known(args, provider.known, prefixes=(_HEADER,))
    headers = dict(_header(name, value) for name, value in args.items() if name.startswith(_HEADER))
    # Anthropic's newer models refuse a temperature.
    fields = {"temperature": "none"} if kind == "anthropic" else {}
    fields |= {name: value for name, value in args.items() if not name.startswith(_HEADER)}
    if "thinking" in fields:
        one_of(*provider.thinking)("--model-arg thinking", fields["thinking"])
    if "azure_deployment" in fields and "azure_api_version" not in fields:
        raise InputError("--model-arg azure_deployment", fields["azure_deployment"], "give azure_api_version too")
    return replace(read_args(ServedOptions, fields), headers=headers)


def address(connection: ServerOptions, options: ServedOptions, kind: str = "openai") -> tuple[str, str]:
    """The server's base URL and its key, empty for a server on this machine without one. Raises `InputError`."""
    provider = PROVIDERS[kind]
    default = "" if options.azure_api_version is not None else provider.base_url
    url = connection.base_url or os.environ.get(provider.url_env) or default
    if not is_usable(url):
        raise InputError("--base-url", shown_url(url), "use an address such as http://127.0.0.1:8000/v1")
    names = provider.key_envs if connection.api_key_env == _DEFAULT_KEY_ENV else (connection.api_key_env,)
    key = next((key for name in names if (key := os.environ.get(name, "").strip())), "")
    if not key and not is_loopback(url):
        remedy = f"no key for {shown_url(url)}: set this variable, name another, or another server: --base-url URL"
        raise InputError("--api-key-env", names[0], remedy)
    return url, key


def check_for_batch(options: ServedOptions) -> None:
    """Refuse what must not, or cannot, stand in a batch file. Raises `InputError`."""
    for header in options.headers:
        raise InputError("--model-arg", f"header.{header}", "no header goes into a batch file: leave it out")
    if any(named_secrets(options.extra_body)):
        remedy = "has a field whose name says that it is secret, and a batch file would show it: leave it out"
        raise InputError("--model-arg", "extra_body", remedy)


def _header(option: str, value: str) -> tuple[str, str]:
    """A header's name and value, as written or from the variable of `ENV:NAME`; never shown."""
    name = re.match(r"[\w!#$%&'*+.^`|~-]*", option)
    if name is None or name[0] != option or option == _HEADER:
        raise InputError("--model-arg", name and name[0], "is no header's name; write header.NAME=VALUE")
    if not value.isprintable():
        raise InputError("--model-arg", option, "its value has characters that no header can have")
    if value.startswith("ENV:"):
        variable = value.removeprefix("ENV:")
        if variable not in os.environ:
            raise InputError(f"--model-arg {option}", value, f"set the environment variable {variable}")
        value = os.environ[variable].strip()
    return option.removeprefix(_HEADER), value
