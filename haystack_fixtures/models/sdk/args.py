"""`--model-arg` of models that are asked through their provider's own client, and where these are."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.args import check_known, choice_arg, float_arg, int_arg, json_arg
from needlework.haystack_fixtures.models.served.args import header_value
from needlework.haystack_fixtures.models.served.connection import Connection, is_loopback, is_usable, shown_url

_HEADER = "header."
_DEFAULT_KEY = Connection().api_key_env
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


def native_address(provider: Provider, connection: Connection) -> NativeAddress:
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
