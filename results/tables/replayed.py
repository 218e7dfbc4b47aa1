"""Which answers of a run were not asked for now: they are from its journal, and may be of a server that is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.results.records.record import Record


def replayed_lines(records: Sequence[Record], written: str, in_all: int) -> Iterator[str]:
    """One line where any answer of this session's `records` was replayed. `written`: when the journal was written last,
    as text; `in_all`: the run's trials, of earlier sessions too.
    """
    replayed = sum(bool(record["timing"].get("replayed")) for record in records)
    if replayed:
        asked = len(records) - replayed
        now = f"{asked} were asked now" if asked else "none was asked now (--fresh asks all again)"
        more = f"; the run has {in_all} in all" if in_all > len(records) else ""
        yield f"{replayed} of {len(records)} answers are from this run's journal, written {written}; {now}{more}"
