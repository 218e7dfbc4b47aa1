"""What a suite says of one family alone: option keys with values that are not the default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Protocol, TypeVar

from needlework.haystack_fixtures.settings.option_values import Parsed

Kind = TypeVar("Kind")


class Own(Mapping[str, Parsed]):
    """Values by option key. Never changes, and may be hashed. Values are not shown: an address may have a secret."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Parsed] | None = None) -> None:
        self._values = dict(sorted((values or {}).items()))

    def __getitem__(self, key: str) -> Parsed:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"Own({', '.join(self)})"


class Owner(Protocol):
    """A suite, as far as its family looks at it."""

    @property
    def own(self) -> Own: ...


def own_of(suite: Owner, kind: type[Kind]) -> Kind:
    """A family's options as its dataclass, whose fields are option keys; what is not said has the field's default."""
    names: Any = fields(kind)  # type: ignore[arg-type]
    given: Any = {field.name: suite.own[field.name] for field in names if field.name in suite.own}
    return kind(**given)
