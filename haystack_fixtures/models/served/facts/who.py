"""Who answers at an address, as far as the server says: engine, version, model file, quantisation, template, slots.

A server that is started again with another configuration has the same address and the same model name. Answers of one
must not be taken for answers of the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from needlework.haystack_fixtures.models.served.facts.window import Fetch, model_entry
from needlework.haystack_fixtures.models.served.http.failures import UnreachableError
from needlework.haystack_fixtures.models.served.reading.fields import table_of

# Where each kind of server tells about itself, and what of it can change answers; nothing that changes by itself.
_TOLD: Mapping[str, tuple[str, ...]] = {
    # llama.cpp
    "/props": ("total_slots", "model_path", "model_ftype", "build_info", "chat_template"),
    # vLLM
    "/version": ("version",),
    # SGLang
    "/get_server_info": (
        "version", "model_path", "revision", "dtype", "quantization", "kv_cache_dtype", "context_length", "tp_size",
        "attention_backend", "chat_template",
    ),
    # Text Generation Inference
    "/info": ("version", "sha", "model_id", "model_sha", "model_dtype", "max_total_tokens", "max_input_tokens"),
}  # fmt: skip
_OF_MODEL = ("id", "root", "max_model_len", "quantization", "dtype", "context_length")
_OF_META = ("n_ctx", "n_params", "size", "n_vocab", "ftype")
_LONG = 200  # characters; longer values (templates) are told by their hash


def who_answers(fetch: Fetch, base_url: str, name: str) -> dict[str, str]:
    """What the server says of itself, by name; empty where it says nothing or is not there. Never raises.

    Only addresses of the host in `base_url` are asked, a handful of small requests.
    """
    base = base_url.partition("?")[0].rstrip("/")
    root = base.removesuffix("/v1").removesuffix("/openai")
    found: dict[str, str] = {}
    try:
        entry = model_entry(fetch(f"{base}/models"), name)
        found |= _kept(entry, _OF_MODEL) | _kept(table_of(entry.get("meta")), _OF_META)
        for path, names in _TOLD.items():
            told = table_of(fetch(root + path))
            found |= _kept(told, names)
            if path == "/props":
                found |= _kept(table_of(told.get("default_generation_settings")), ("n_ctx",))
        shown = table_of(fetch(f"{root}/api/show", {"model": name}))  # Ollama
        found |= _kept(table_of(shown.get("details")), ("format", "quantization_level", "parameter_size"))
        found |= _kept(shown, ("parameters", "template"))
    except UnreachableError:
        return {}
    return found


def fingerprint(facts: Mapping[str, str]) -> str:
    """Twelve signs that stand for these facts; empty for none."""
    return sha256(json.dumps(sorted(facts.items())).encode()).hexdigest()[:12] if facts else ""


def _kept(told: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    kept = {name: str(told[name]) for name in names if told.get(name) not in (None, "", [], {})}
    return {
        name: value if len(value) <= _LONG else f"sha256 {sha256(value.encode()).hexdigest()[:12]}"
        for name, value in kept.items()
    }
