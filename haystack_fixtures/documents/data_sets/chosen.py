"""Which rows of a data set are asked, and at which of a suite's lengths."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256

from needlework.haystack_fixtures.documents.data_sets.data_set import DataSet
from needlework.haystack_fixtures.documents.data_sets.layout import Entry
from needlework.haystack_fixtures.documents.data_sets.options import DataOptions
from needlework.haystack_fixtures.errors import InputError


def chosen(data: DataSet, own: DataOptions, group: Callable[[Entry], object]) -> tuple[Entry, ...]:
    """The rows that `--data-where` and `--data-limit` leave, in the order of the file. Raises `InputError`.

    `group`: rows of one group share a limit. Those that stay are the first by a hash of the row, so that a smaller
    limit asks a part of what a larger one does.
    """
    found = [entry for entry in data.entries if all(_meets(data, entry, each) for each in own.data_where)]
    if not found:
        raise InputError("--data-where", ",".join(own.data_where), f"none of {len(data.entries)} rows is like that")
    if not own.data_limit:
        return tuple(found)
    groups: dict[object, list[Entry]] = {}
    for entry in sorted(found, key=_hash):
        groups.setdefault(group(entry), []).append(entry)
    kept = {entry.number for entries in groups.values() for entry in entries[: own.data_limit]}
    return tuple(entry for entry in found if entry.number in kept)


def nominal_length(tokens: float, lengths: Sequence[int]) -> tuple[int, ...]:
    """The least of the suite's lengths that holds so many tokens; none where all are shorter."""
    holding = [length for length in lengths if length >= tokens]
    return (min(holding),) if holding else ()


def _meets(data: DataSet, entry: Entry, condition: str) -> bool:
    column, _, values = condition.partition("=")
    column = column.strip()
    if column not in entry.row:
        names = ", ".join(sorted(entry.row))
        raise InputError("--data-where", condition, f"{data.layout.name} has no such column; it has {names}")
    return str(entry.row[column]) in [value.strip() for value in values.split("|")]


def _hash(entry: Entry) -> str:
    row = json.dumps(dict(entry.row), sort_keys=True, default=str)
    return sha256(row.encode("utf-8", "surrogatepass")).hexdigest()
