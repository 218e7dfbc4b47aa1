"""`--model-arg` of served models: what goes into each request, and how the server is reached."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.args import bool_arg, check_known, choice_arg, float_arg, int_arg, json_arg
from needlework.haystack_fixtures.models.served.connection import Connection, is_loopback, is_usable, shown_url
from needlework.haystack_fixtures.redact import named_secrets

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


def served_options(args: Mapping[str, str], connection: Connection) -> ServedOptions:
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


def address(connection: Connection, azure: bool) -> Address:
    """The server and its key. A server on this machine needs no key."""
    url = connection.base_url or os.environ.get("OPENAI_BASE_URL") or ("" if azure else _OPENAI)
    if not is_usable(url):
        raise InputError("--base-url", shown_url(url), "use an address such as http://127.0.0.1:8000/v1")
    loopback = is_loopback(url)
    key = os.environ.get(connection.api_key_env, "").strip()
    if not key and not loopback:
        remedy = "the environment variable with the server's key is not set; set it or name another"
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
