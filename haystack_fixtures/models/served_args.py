"""`--model-arg` of served models: what goes into each request, and how the server is reached."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from haystack_fixtures.errors import InputError
from haystack_fixtures.models.args import bool_arg, check_known, choice_arg, float_arg, int_arg, json_arg
from haystack_fixtures.models.connection import Connection, is_loopback

KNOWN = (
    "azure_api_version",
    "azure_deployment",
    "extra_body",
    "max_tokens_field",
    "proxy",
    "seed",
    "stream",
    "temperature",
    "window",
)
_HEADER = "header."
_OPENAI = "https://api.openai.com/v1"
_NO_KEY = "none"  # what local servers are sent, which want no key


@dataclass(frozen=True, slots=True)
class ServedOptions:
    """What `--model-arg` says about a served model.

    `temperature` is `None` where none is to be sent (some reasoning models refuse it). `max_tokens_field` is `None`
    where the server may teach us. `headers` and `proxy` may hold secrets and are not shown.
    """

    temperature: float | None = 0.0
    seed: int | None = None
    stream: bool = True
    max_tokens_field: str | None = None
    window: int | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict, repr=False)
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
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is and the key for it; the key is not shown."""

    base_url: str = field(repr=False)
    key: str = field(repr=False)
    loopback: bool


def served_options(args: Mapping[str, str], connection: Connection) -> ServedOptions:
    """Read the arguments; an unknown name or a value of the wrong type raises `InputError`."""
    check_known(args, KNOWN, prefixes=(_HEADER,))
    send_temperature = args.get("temperature") != "none"
    temperature = float_arg(args, "temperature", 0.0) if send_temperature else None
    if "azure_deployment" in args and "azure_api_version" not in args:
        raise InputError("--model-arg azure_deployment", args["azure_deployment"], "give azure_api_version too")
    proxy = args.get("proxy")
    if proxy is not None and (urlsplit(proxy).scheme not in ("http", "https") or not urlsplit(proxy).hostname):
        raise InputError("--model-arg proxy", proxy.rpartition("@")[2], "use an address such as http://proxy:3128")
    headers = _headers_of_environment(connection.headers_env)
    headers |= {name[len(_HEADER) :]: _header(name, value) for name, value in args.items() if name.startswith(_HEADER)}
    return ServedOptions(
        temperature=0.0 if send_temperature and temperature is None else temperature,
        seed=int_arg(args, "seed", 0),
        stream=bool_arg(args, "stream", True),
        max_tokens_field=choice_arg(args, "max_tokens_field", ("max_tokens", "max_completion_tokens")),
        window=int_arg(args, "window", 1),
        extra_body=json_arg(args, "extra_body") or {},
        headers=headers,
        proxy=proxy,
        azure_api_version=args.get("azure_api_version"),
        azure_deployment=args.get("azure_deployment"),
    )


def address(connection: Connection, azure: bool) -> Address:
    """The server and its key. A server on this machine needs no key."""
    url = connection.base_url or os.environ.get("OPENAI_BASE_URL") or ("" if azure else _OPENAI)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("--base-url", url.rpartition("@")[2], "use an address such as http://127.0.0.1:8000/v1")
    loopback = is_loopback(url)
    key = os.environ.get(connection.api_key_env, "").strip()
    if not key and not loopback:
        remedy = "the environment variable with the server's key is not set; set it or name another"
        raise InputError("--api-key-env", connection.api_key_env, remedy)
    return Address(url, key or _NO_KEY, loopback)


def _header(option: str, value: str) -> str:
    """A header's value: as written, or `ENV:NAME` for what an environment variable holds."""
    if not value.startswith("ENV:"):
        return value
    name = value.removeprefix("ENV:")
    if name not in os.environ:
        raise InputError(f"--model-arg {option}", value, f"set the environment variable {name}")
    return os.environ[name].strip()


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
