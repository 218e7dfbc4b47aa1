"""Records of controls: they are measured beside a task and are no part of its score."""

from __future__ import annotations

from collections.abc import Iterable

from results.records import Record


def control_of(record: Record) -> str:
    """`absent` or `focused` for a record of a control, else empty."""
    reference = record.get("reference")
    control = reference.get("control") if isinstance(reference, dict) else None
    return control if isinstance(control, str) else ""


def without_controls(records: Iterable[Record]) -> list[Record]:
    """The records that a task's score is made of."""
    return [record for record in records if not control_of(record)]
