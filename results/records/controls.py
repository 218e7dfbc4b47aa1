"""Records of controls and of retrievers: they are measured beside a task and are no part of its score."""

from __future__ import annotations

from collections.abc import Iterable

from needlework.results.records.record import Record


def control_of(record: Record) -> str:
    """`absent` or `focused` for a record of a control, else empty."""
    reference = record.get("reference")
    control = reference.get("control") if isinstance(reference, dict) else None
    return control if isinstance(control, str) else ""


def retriever_of(record: Record) -> str:
    """`bm25` or `dense` for a record whose context was retrieved, else empty."""
    reference = record.get("reference")
    retriever = reference.get("retriever") if isinstance(reference, dict) else None
    return retriever if isinstance(retriever, str) else ""


def without_controls(records: Iterable[Record]) -> list[Record]:
    """The records that a score is made of: of a task, and apart from it of each retriever."""
    return [record for record in records if not control_of(record)]


def as_asked(records: Iterable[Record]) -> list[Record]:
    """The records that a task's own score is made of: no controls, nothing retrieved."""
    return [record for record in records if not control_of(record) and not retriever_of(record)]
