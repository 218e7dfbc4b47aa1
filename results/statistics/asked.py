"""Records with what several statistics ask of each: its trial, and whether it is of a control or of a retriever."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from needlework.results.records.controls import control_of, retriever_of
from needlework.results.records.record import Record
from needlework.results.statistics.panels import Trial, trial_of


class Asked(NamedTuple):
    """A record, its trial, its control (`absent`, `focused`) and its retriever; both are empty for most."""

    record: Record
    trial: Trial
    control: str
    retriever: str


def asked_of(records: Iterable[Record]) -> list[Asked]:
    """Return all records with theirs."""
    return [Asked(record, trial_of(record), control_of(record), retriever_of(record)) for record in records]
