"""What a Python configuration may hold once it was read: plain values, and names of what we do not have."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_STEPS = 400_000  # statements and expressions of a file with those it imports; published ones take 20,000
MOST_ITEMS = 50_000  # of a list, and characters of a text that is put together
_MOST_BITS = 256  # of a whole number
_SCALARS = (str, int, float, bool, type(None))


class Unreadable(Exception):  # noqa: N818 - not an error of the program: one line of a file, which is told and passed over
    """What stands at a place of the file is not read."""


class Endless(Exception):  # noqa: N818
    """The file has more steps than any configuration."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a file names and we do not have, such as a class of the system that it is for.

    `arguments`: those with a name, where it is called.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function that the file itself has."""

    node: ast.FunctionDef


def scalar(value: Any) -> Any:
    """A value without parts. Raises `Unreadable`: what has parts may have them without end."""
    if isinstance(value, _SCALARS):
        return value
    raise Unreadable(f"{value.name} is not known here" if isinstance(value, Unknown) else "needs a text or a number")


def bounded(value: Any) -> Any:
    """A value that is not larger than any configuration needs. Raises `Unreadable`."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _MOST_BITS:
        raise Unreadable("a number too large for a configuration")
    if isinstance(value, (str, list, tuple, dict, set)) and len(value) > MOST_ITEMS:
        raise Unreadable("a value too long for a configuration")
    return value


def items_of(value: Any) -> Sequence[Any]:
    """What a loop goes through. Raises `Unreadable`."""
    if isinstance(value, Unknown):
        raise Unreadable(f"{value.name} is not known here")
    if not isinstance(value, (list, tuple, range, str, dict, set)):
        raise Unreadable("nothing that can be gone through")
    if len(value) > MOST_ITEMS:
        raise Unreadable("a value too long for a configuration")
    return list(value)
