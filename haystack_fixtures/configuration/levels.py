"""Where options are written, from what counts most to what counts least: command line, TOML file, ini file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Written = Mapping[str, str | Sequence[str]]
"""Option key -> value as written; repeatable options have a sequence."""


def first(levels: Sequence[Written], key: str) -> str | Sequence[str] | None:
    """The value of the first level that has one."""
    return next((level[key] for level in levels if key in level), None)
