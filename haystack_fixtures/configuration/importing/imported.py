"""What becomes of a published configuration: suites in our words, options for the command line, a line for each thing.

A published suite's own values (`base`) come first; what the file says takes their place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from needlework.haystack_fixtures.configuration.importing.known import Unknown
from needlework.haystack_fixtures.configuration.peer_names import NAMES
from needlework.haystack_fixtures.errors import printable

Fate = Literal["same", "different", "not here", "unread"]
_SECRET = re.compile(r"(?i)(key|secret|password|token)$")
_SHOWN = 60  # characters of a value


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one setting. `said`: as the file has it; `ours`: what it is here, or what to do."""

    fate: Fate
    said: str
    ours: str = ""

    def __str__(self) -> str:
        return f"{self.fate:<11}{printable(self.said)}{f'  ->  {printable(self.ours)}' if self.ours else ''}"


@dataclass(frozen=True, slots=True)
class Imported:
    """`options`: for the command line, each a word of its own."""

    system: str
    suites: tuple[Mapping[str, Any], ...]
    lines: tuple[Line, ...]
    options: tuple[str, ...] = field(default=())


def told(name: str, value: Any) -> str:
    """`name = value` as a line shows it: short, and never a secret."""
    if _SECRET.search(name):
        return f"{name} = ..."
    if isinstance(value, Unknown):
        return f"{name} = {value.name}"
    return f"{name} = {short(value)}"


def line_of(name: str, value: Any, ours: str = "", *, different: str = "") -> Line:
    """The line of a setting that is `ours` here (`key = value`); `different`: what is other about it."""
    if not ours:
        row = NAMES.get(name)
        return Line("not here", told(name, value), row.here if row else "no such thing here")
    return Line(
        "different" if different else "same", told(name, value), f"{ours}{f': {different}' if different else ''}"
    )


def plain(value: Any) -> bool:
    """Whether a value is a text, a number, or a list of those: what a preset can hold."""
    if isinstance(value, (list, tuple)):
        return all(isinstance(part, (str, int, float)) for part in value)
    return isinstance(value, (str, int, float))


def preset_text(name: str, about: str, suites: Sequence[Mapping[str, Any]]) -> str:
    """A preset file."""
    return "\n".join(_rows(name, about, suites)) + "\n"


def _rows(name: str, about: str, suites: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"[{name}]"
    yield f"about = {_toml(about)}"
    for suite in suites:
        yield f"\n[[{name}.suite]]"
        yield from (f"{key} = {_toml(value)}" for key, value in suite.items() if value is not None)


def _toml(value: Any) -> str:
    """A value as TOML has it: JSON's texts, numbers, true and false are TOML's too, but for one control character."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _has_no_parts(value: Any) -> bool:
    return isinstance(value, (str, int, float)) or value is None


def short(value: Any) -> str:
    """A value as a line shows it."""
    if isinstance(value, (list, tuple, range)):
        ends = value if len(value) < 5 else (*value[:3], value[-1])
        shown = [short(part) if _has_no_parts(part) else "..." for part in ends]
        return f"[{', '.join(shown if len(value) < 5 else (*shown[:3], f'... {shown[3]}'))}]"
    if not _has_no_parts(value):
        return value.name if isinstance(value, Unknown) else f"a {type(value).__name__}"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)[: 10 * _SHOWN]
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
