"""Typed reading of `--model-arg NAME=VALUE`."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping

from needlework.haystack_fixtures.errors import InputError

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def check_known(args: Mapping[str, str], known: Collection[str], prefixes: tuple[str, ...] = ()) -> None:
    """Refuse names that nothing reads: a misspelt option must not be ignored."""
    for name in args:
        if name not in known and not (prefixes and name.startswith(prefixes)):
            listed = ", ".join([*sorted(known), *(f"{prefix}NAME" for prefix in prefixes)])
            raise InputError("--model-arg", name, f"unknown for this kind of model; known: {listed}")


def bool_arg(args: Mapping[str, str], name: str, default: bool) -> bool:
    """A yes or no."""
    if name not in args:
        return default
    word = args[name].strip().lower()
    if word not in _TRUE | _FALSE:
        raise _bad(args, name, "use true or false")
    return word in _TRUE


def int_arg(args: Mapping[str, str], name: str, minimum: int) -> int | None:
    """A whole number, `None` when not given."""
    if name not in args:
        return None
    try:
        value = int(args[name].replace("_", ""))
    except ValueError:
        raise _bad(args, name, "use a whole number") from None
    if value < minimum:
        raise _bad(args, name, f"use a whole number from {minimum} up")
    return value


def float_arg(args: Mapping[str, str], name: str, minimum: float) -> float | None:
    """A finite number, `None` when not given."""
    if name not in args:
        return None
    try:
        value = float(args[name])
    except ValueError:
        raise _bad(args, name, "use a number") from None
    if not math.isfinite(value) or value < minimum:
        raise _bad(args, name, f"use a number from {minimum:g} up")
    return value


def json_arg(args: Mapping[str, str], name: str) -> dict[str, object] | None:
    """A JSON object, `None` when not given."""
    if name not in args:
        return None
    try:
        value = json.loads(args[name])
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        # A field may be a key: the value is not shown.
        raise InputError("--model-arg", name, 'its value is not a JSON object, such as {"factor": 4.0}')
    return value


def choice_arg(args: Mapping[str, str], name: str, choices: Collection[str]) -> str | None:
    """One of some words, `None` when not given."""
    if name not in args:
        return None
    if args[name] not in choices:
        raise _bad(args, name, f"use one of {', '.join(choices)}")
    return args[name]


def _bad(args: Mapping[str, str], name: str, remedy: str) -> InputError:
    return InputError(f"--model-arg {name}", args[name], remedy)
