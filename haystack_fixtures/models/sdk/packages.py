"""The providers' own client libraries, which are extras."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from needlework.haystack_fixtures.errors import InputError

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
