"""Records that differ from others in a few fields."""

from msgspec import to_builtins

from needlework.core.record import record_of


def changed(record, **fields):
    """The record with other values; nested ones are given as JSON has them."""
    return record_of(to_builtins(record) | fields)
