"""Which records of a run's journal are in the run without being asked for now, and which are not in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.results.records.record import FINAL, Record
from needlework.results.records.tests_of_cells import identity
from needlework.results.statistics.comparison.provenance import differing_facts
from needlework.results.style.text import counted, fit, one_line

_LONGEST = 200  # columns of what has changed


def replayed_lines(replayed: int, records: int, written: str, in_all: int) -> Iterator[str]:
    """One line where answers of this session's `records` were `replayed`: they may be of a server that is gone.

    `written`: when the journal was written last, as text; `in_all`: the run's trials, of earlier sessions too.
    """
    if replayed:
        asked = records - replayed
        now = f"{asked} were asked now" if asked else "none was asked now (--fresh asks all again)"
        more = f"; the run has {in_all} in all" if in_all > records else ""
        yield f"{replayed} of {records} answers are from this run's journal, written {written}; {now}{more}"


def kept_lines(answers: int) -> Iterator[str]:
    """One line where so many answers have come that the run was ended too early to score."""
    if answers:
        yield f"{counted(answers, 'more answer')} came before the end and {'is' if answers == 1 else 'are'} kept"


def left_lines(
    run: str, earlier: Sequence[Record], records: Sequence[Record], recipe: str, changed: Sequence[str]
) -> Iterator[str]:
    """A line for records of other options that the journal has and the run has not, and one for answers to other
    prompts of the run's cells.

    `earlier`: what the journal held before this session; `records`: those of the run, which may have taken over answers
    to the same prompts from other options; `recipe`: of the run. `changed`: what this session has learnt otherwise than
    earlier ones.
    """
    taken = {record["key"] for record in records}
    left = [record for record in earlier if record["key"] not in taken]
    others = sum(record["details"].get("recipe") != recipe for record in left)
    if others:
        yield _left_line(run, f"{others} records of a run with other options")
    replaced = {
        record["key"]: record
        for record in left
        if record["details"].get("recipe") == recipe and record["outcome"] in FINAL
    }
    if replaced:
        differ = "; ".join(changed or _differences(list(replaced.values()), records))
        told = f" (before / now: {fit(one_line(differ), _LONGEST, '…')})" if differ else ""
        yield _left_line(run, f"{counted(len(replaced), 'answer')} to other prompts of these cells{told}")


def _differences(replaced: Sequence[Record], records: Sequence[Record]) -> list[str]:
    """What differs between the first of these and the record that is there in its place."""
    there = {identity(record): record for record in records}
    for record in replaced:
        if identity(record) in there:
            return differing_facts(record, there[identity(record)])
    return []


def _left_line(run: str, what: str) -> str:
    line = f"{run} also holds {what}: they stay in the journal and out of these files"
    return f"{line}; use another --run-name, or --fresh to drop them"
