"""Whether two names mean the same model: servers add a date, a tag or a path to the plain name that was asked for."""

from __future__ import annotations

import re

_FILE = re.compile(r"\.(gguf|ggml|bin|safetensors)$")
_TAG = re.compile(r"[-:@](latest|default)$")
# What a provider adds to a plain name: a date or a short number of the version.
_VERSION = re.compile(r"[-:@_.](\d{3,4}|\d{2}-\d{2}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2})(-preview)?$")


def same_model(one: str, other: str) -> bool:
    """Whether one name is the other, or the other with a date, a tag (`:latest`), an owner or folder before it.

    Two different dates of one name are two models.
    """
    first, second = _plain(one), _plain(other)
    return first == second or _dated(first, second) or _dated(second, first)


def _plain(name: str) -> str:
    base = re.split(r"[/\\]", name.strip().rstrip("/\\").lower())[-1]
    return _TAG.sub("", _FILE.sub("", base))


def _dated(name: str, base: str) -> bool:
    version = _VERSION.search(name)
    return version is not None and name[: version.start()] == base
