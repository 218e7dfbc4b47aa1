"""The exit status of a run: what the cells, the gates and the disk make of pytest's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

from needlework.results.records.record import Record
from needlework.results.records.windows import refused_below_window

if TYPE_CHECKING:
    from needlework.results.gates.verdict import Verdict

GATE_FAILED, INCONCLUSIVE, VOID = 1, 10, 11


def exit_status(status: int, *, fault: bool, early: bool, void: bool, verdicts: Sequence[Verdict]) -> int:
    """`status`: pytest's own. `fault`: results could not be written. `early`: the run ended before its last cell."""
    if status not in (0, 1, 2):
        return status
    if fault:
        return 4
    if verdicts and early:
        return VOID
    if status == pytest.ExitCode.INTERRUPTED:
        return status
    if void:
        return VOID
    states = {verdict.state for verdict in verdicts}
    return GATE_FAILED if "fail" in states else status or (INCONCLUSIVE if "inconclusive" in states else 0)


def is_void(records: Sequence[Record], windows: Mapping[str, int], max_errors: float) -> bool:
    """Whether more than `max_errors` percent of the cells are invalid, errors, or refused though they fit."""
    void = sum(record["outcome"] in ("invalid", "error") or refused_below_window(record, windows) for record in records)
    return void * 100 > max_errors * len(records)
