"""Which answers of a run were not asked for now: they are from its journal, and may be of a server that is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.results.records.record import Record


def replayed_lines(records: Sequence[Record], written: str) -> Iterator[str]:
    """One line where any answer was replayed. `written`: when the journal was written last, as text."""
    replayed = sum(bool(record["timing"].get("replayed")) for record in records)
    if replayed:
        asked = len(records) - replayed
        now = f"{asked} were asked now" if asked else "none was asked now (--fresh asks all again)"
        yield f"{replayed} of {len(records)} answers are from this run's journal, written {written}; {now}"
