"""What an option's text may be: one parser for each kind of value. All raise `InputError` naming option and remedy."""

from __future__ import annotations

from collections.abc import Callable

from haystack_fixtures.errors import InputError
from haystack_fixtures.grids import parse_tokens

Parsed = str | int | float | bool | tuple[str, ...] | None
Parser = Callable[[str, str], Parsed]


def text(option: str, value: str) -> str:
    """Any text; an empty one is a mistake."""
    if not value.strip():
        raise InputError(option, value, "give a value that is not empty")
    return value


def any_text(_option: str, value: str) -> str:
    """Any text, an empty one too."""
    return value


def words(option: str, value: str) -> tuple[str, ...]:
    """`a,b c` as a tuple."""
    found = tuple(dict.fromkeys(word for word in value.replace(" ", ",").split(",") if word))
    if not found:
        raise InputError(option, value, "give at least one value")
    return found


def key_value(option: str, value: str) -> str:
    """`KEY=VALUE`."""
    if not value.partition("=")[0].strip() or "=" not in value:
        raise InputError(option, value, "write KEY=VALUE, such as dtype=bfloat16")
    return value


def whole(least: int) -> Parser:
    """A whole number, at least `least`."""

    def parse(option: str, value: str) -> int:
        if not value.strip().lstrip("-").isdigit() or int(value) < least:
            raise InputError(option, value, f"give a whole number, {least} or more")
        return int(value)

    return parse


def tokens(option: str, value: str) -> int:
    """A number of tokens, such as 64 or 2k."""
    return parse_tokens(option, value)


def seconds(option: str, value: str) -> float:
    """A time above 0 in seconds."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise InputError(option, value, "give seconds above 0, such as 120")
    return number


def percent(option: str, value: str) -> float:
    """A number from 0 to 100."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise InputError(option, value, "give a percent from 0 to 100")
    return number


def one_of(*choices: str) -> Parser:
    """One word of a list."""

    def parse(option: str, value: str) -> str:
        if value not in choices:
            raise InputError(option, value, f"use one of {', '.join(choices)}")
        return value

    return parse


def switch(option: str, value: str) -> bool:
    """A yes or no."""
    known = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}
    if value.strip().lower() not in known:
        raise InputError(option, value, "use true or false")
    return known[value.strip().lower()]
