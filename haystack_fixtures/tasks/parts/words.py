"""The words that tasks draw from: our own data files."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources


@cache
def words(family: str, language: str, kind: str) -> tuple[str, ...]:
    """The words of one kind and language (`en`, `zh`) in the data file of a family, in its order."""
    text = (resources.files("needlework.haystack_fixtures.tasks") / "data" / f"{family}.toml").read_text(
        encoding="utf-8"
    )
    return tuple(tomllib.loads(text)[language][kind].split())
