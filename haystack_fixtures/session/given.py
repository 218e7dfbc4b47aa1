"""What the command line and the ini file say of our options."""

from __future__ import annotations

import os
from typing import Any

import pytest

from needlework.haystack_fixtures.configuration.options import OPTIONS

# Said by the machine that a process is on; the command line comes before it, files come after.
_OF_ENVIRONMENT = {"base_url": "NEEDLEWORK_BASE_URL"}


def command_line(config: pytest.Config) -> dict[str, str | list[str]]:
    given = {option.key: config.getoption(option.key) for option in OPTIONS}
    said = {key: _word(value) for key, value in given.items() if value is not None}
    return {key: value for key, name in _OF_ENVIRONMENT.items() if (value := os.environ.get(name, "").strip())} | said


def _word(value: Any) -> Any:
    """argparse reads `--option=--` as an empty list."""
    return "--" if value == [] else [_word(each) for each in value] if isinstance(value, list) else value


def ini(config: pytest.Config) -> dict[str, str | list[str]]:
    given = {option.key: config.getini(option.key) for option in OPTIONS}
    return {key: value for key, value in given.items() if value}
