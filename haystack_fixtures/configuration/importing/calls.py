"""The functions and methods that a configuration may call: each gives plain values, and nothing else happens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from needlework.haystack_fixtures.configuration.importing.known import Unreadable, bounded, items_of, scalar

MATH: dict[str, Callable[..., Any]] = {
    f"math.{name}": getattr(math, name) for name in ("ceil", "exp", "floor", "log", "log2", "log10", "sqrt")
}
_STRINGS = ("endswith", "startswith", "lower", "upper", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix")


def _sum(values: Any, start: Any = 0) -> Any:
    total = list(start) if isinstance(start, list) else scalar(start)
    for value in items_of(values):
        total = bounded(total + (list(items_of(value)) if isinstance(total, list) else scalar(value)))
    return total


def _dict(*pairs: Any, **named: Any) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for given in pairs:
        found = given.items() if isinstance(given, dict) else [tuple(items_of(pair)) for pair in items_of(given)]
        made |= {scalar(key): value for key, value in found}
    return made | named


def _range(*ends: Any) -> range:
    found = range(*map(scalar, ends))
    if len(found) > 50_000:
        raise Unreadable("a range too long for a configuration")
    return found


def _of_scalars(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*map(scalar, values))


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of many values, as a list or one by one; every one a scalar."""
    return lambda *values, **named: function(
        [scalar(value) for value in (items_of(values[0]) if len(values) == 1 else values)],
        **{key: scalar(value) for key, value in named.items()},
    )


BUILT_IN: dict[str, Callable[..., Any]] = {
    "dict": _dict,
    "range": _range,
    "sum": _sum,
    "list": lambda values=(): list(items_of(values)),
    "tuple": lambda values=(): tuple(items_of(values)),
    "set": lambda values=(): {scalar(value) for value in items_of(values)},
    "len": lambda values: len(items_of(values)),
    "enumerate": lambda values, start=0: list(enumerate(items_of(values), scalar(start))),
    "zip": lambda *values, **_named: list(zip(*map(items_of, values), strict=False)),
    "reversed": lambda values: list(items_of(values))[::-1],
    "sorted": _over(sorted),
    "min": _over(min),
    "max": _over(max),
    **{kind.__name__: _of_scalars(kind) for kind in (int, float, str, bool)},
    **{function.__name__: _of_scalars(function) for function in (abs, round)},
}


def method(owner: Any, name: str, given: Sequence[Any]) -> Any:
    """Call a method of a list, a dict or a text. Raises `Unreadable` for one that is none of these."""
    if isinstance(owner, list) and name in ("append", "extend"):
        owner += [given[0]] if name == "append" else items_of(given[0])
        return bounded(owner) and None
    if isinstance(owner, dict):
        if name in ("items", "keys", "values"):
            return [tuple(pair) for pair in owner.items()] if name == "items" else list(getattr(owner, name)())
        if name == "get":
            return owner.get(scalar(given[0]), given[1] if len(given) > 1 else None)
        if name == "update":
            return owner.update(_dict(*given))
    if isinstance(owner, (list, dict)) and name == "copy":
        return owner.copy()
    if isinstance(owner, str):
        if name in _STRINGS:
            return getattr(owner, name)(*map(scalar, given))
        if name == "join":
            return bounded(owner.join(str(scalar(part)) for part in items_of(given[0])))
        if name == "split":
            return owner.split(*map(scalar, given))
    raise Unreadable(f".{name}() is not read")
