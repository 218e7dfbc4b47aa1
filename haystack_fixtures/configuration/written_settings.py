"""Settings that were written down as JSON, read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from needlework.haystack_fixtures.configuration.own_values import own_from_tables
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.option_values import key_value
from needlework.haystack_fixtures.settings.settings import Settings, Suite

_MOST = 10**12
_ONCE_SINGLE = ("judge", "judge_base_url")  # had one value before there could be several judges


def read_settings(name: str, options: Mapping[str, Any], suites: Sequence[Mapping[str, Any]]) -> Settings:
    """The settings of these fields; those that this version does not know are passed over.

    Raises `InputError` with the `name` of the file, where fields are missing or of other types.
    """
    try:
        found = tuple(Suite(**_typed(name, Suite, suite), own=own_from_tables(options, suite)) for suite in suites)
        if not found or not all(suite.repeats for suite in found):
            raise TypeError("it has no cells")
        settings = Settings(suites=found, **_typed(name, Settings, options))
        for word in settings.model_arg:
            key_value(name, word)
        return settings
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(name, error, "is not a manifest of this version") from None


def _typed(name: str, kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)} - {"own"}
    typed: dict[str, Any] = {}
    for key in known & values.keys():
        value = values[key]
        value = tuple(value) if isinstance(value, list) else Path(value) if hints[key] is Path else value
        if key in _ONCE_SINGLE and not isinstance(value, tuple):
            value = () if value is None else (value,)
        if not _fits(value, hints[key]):
            raise InputError(name, f"{key}: {value!r}", "is not a manifest of this version")
        typed[key] = value
    return typed


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of a field's type; a grid has at least one length and one depth, and no negative number."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is tuple:
        numbers = inside[0] in (int, float)
        return isinstance(value, tuple) and all(_fits(part, inside[0]) for part in value) and bool(value or not numbers)
    if origin is Literal:
        return value in inside
    if inside:  # a union
        return any(_fits(value, part) for part in inside)
    if hint in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        return 0 <= value < _MOST and (hint is float or isinstance(value, int))
    if isinstance(value, str):
        return hint is str and value == value.encode("utf-8", "replace").decode()  # no half of a surrogate pair
    return type(value) is hint or (isinstance(hint, type) and hint is not int and isinstance(value, hint))
