"""What the rows of a data set have to be, and what its files turned out to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OPTION = "--data"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """A data set as its makers publish it.

    `columns`: those that every row has. `text`: the long one of them, which is read when it is needed. `count`: a
    column with the characters of the long one, where there is one. `hub`: where the makers keep it. `corrected`: the
    date (YYYY-MM-DD) from which on its rows are right; rows tell theirs in `date_added`.
    """

    name: str
    columns: tuple[str, ...]
    text: str
    count: str = ""
    hub: str = ""
    corrected: str = ""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file as it was read: its name below what was given, its hash, and how many rows it has."""

    name: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A row without its long text. `number`: its place among all rows of the data set, from 0; `chars`: characters of
    the long text."""

    number: int
    chars: int
    row: Row = field(repr=False)
