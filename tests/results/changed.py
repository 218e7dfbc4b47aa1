"""Records that differ from others in a few fields."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from needlework.core.record import Record, record_of


def changed(record: Record, **fields: Any) -> Record:
    """The record with other values; nested ones are given as JSON has them."""
    return record_of(to_builtins(record) | fields)
