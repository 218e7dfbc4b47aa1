"""A session's cells, speed and exit status, and lines on answers of earlier sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from needlework.core.grid import parse_id
from needlework.core.record import FINAL, Record
from needlework.core.settings import Settings
from needlework.results.records.samples import of_tests, refused_below_window
from needlework.results.style import counted, duration

if TYPE_CHECKING:
    from needlework.results.gates.gate import Verdict


class Selected:
    """The selected cells of a session, by the node ids of their tests; tests without a cell are ignored."""

    def __init__(self) -> None:
        self._selected: set[str] = set()
        self._ended: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._selected)

    def add(self, nodeids: Iterable[str]) -> None:
        """Add collected tests that were not deselected."""
        self._selected.update(nodeid for nodeid in nodeids if parse_id(nodeid) is not None)

    def end(self, nodeid: str) -> None:
        """Note that a test has ended, with or without a record: it may skip itself."""
        self._ended.add(nodeid)

    def of(self, records: Iterable[Record], now: Iterable[Record]) -> list[Record]:
        """The records of the selected cells, and of further ones that this session ran (`now`)."""
        return of_tests(records, {*self._selected, *(record.nodeid for record in now)})

    def planned(self, records: Iterable[Record]) -> int:
        """The number of trials of a run: these records, and selected cells without end or record."""
        recorded = [record.nodeid for record in records]
        return len(recorded) + len(self._selected - self._ended - set(recorded))


class SessionPace(Struct, frozen=True):
    """The speed of a session: the trials that it sent, and its seconds, loading of the model included."""

    trials: int
    prompt_tokens: int
    seconds: float

    @property
    def trial_s(self) -> float:
        """Seconds a trial."""
        return self.seconds / self.trials


def pace_of(now: Iterable[Record], seconds: float) -> SessionPace | None:
    """The speed of a session with these records; `None` where nothing was answered."""
    tokens = [
        record.prompt.tokens
        for record in now
        if not record.timing.replayed and record.outcome != "error" and record.prompt.tokens
    ]
    return SessionPace(len(tokens), sum(tokens), seconds) if tokens and seconds > 0 else None


def time_lines(settings: Settings, lengths: Sequence[int]) -> list[str]:
    """The time of trials of these `lengths` (tokens, one each) at `--tokens-per-s`."""
    speed = settings.tokens_per_s
    if not speed or not lengths:
        return []
    whole, one = sum(lengths) / speed, sum(lengths) / len(lengths) / speed
    return [f"at {speed:,.0f} prompt tokens a second: at most {duration(whole)}, {duration(one)} a trial"]


GATE_FAILED, INTERRUPTED, UNWRITTEN, INCONCLUSIVE, VOID = 1, 2, 4, 10, 11  # 0 to 5 mean what pytest means by them


def exit_status(status: int, *, fault: bool, early: bool, void: bool, verdicts: Sequence[Verdict]) -> int:
    """The exit status of a run by pytest's own (`status`) and the gates' verdicts.

    `fault`: results could not be written. `early`: the run ended before its last cell.
    """
    if status not in (0, GATE_FAILED, INTERRUPTED):
        return status
    if fault:
        return UNWRITTEN
    if verdicts and early:
        return VOID
    if status == INTERRUPTED:
        return status
    if void:
        return VOID
    states = {verdict.state for verdict in verdicts}
    return GATE_FAILED if "fail" in states else status or (INCONCLUSIVE if "inconclusive" in states else 0)


def is_void(records: Sequence[Record], windows: Mapping[str, int], max_errors: float) -> bool:
    """Whether over `max_errors` percent of the cells are invalid, errors, or refused below the window."""
    void = sum(record.outcome in ("invalid", "error") or refused_below_window(record, windows) for record in records)
    return void * 100 > max_errors * len(records)


def replayed_lines(replayed: int, records: int, written: str, total: int) -> Iterator[str]:
    """One line if some of the session's answers (`records`) are `replayed`, perhaps of another server.

    `written`: when the journal was last written, as text. `total`: the trials of all sessions of the run.
    """
    if replayed:
        fresh = records - replayed
        now = f"{fresh} were asked now" if fresh else "none was asked now (--fresh asks all again)"
        more = f"; the run has {total} in all" if total > records else ""
        yield f"{replayed} of {records} answers are from this run's journal, written {written}; {now}{more}"


def kept_lines(answers: int) -> Iterator[str]:
    """One line on answers that arrived and that the run ended too early to score."""
    if answers:
        yield f"{counted(answers, 'more answer')} came before the end and {'is' if answers == 1 else 'are'} kept"


def left_lines(run: str, earlier: Sequence[Record], records: Sequence[Record], recipe: str) -> Iterator[str]:
    """A line on the journal's records of other options, and one on answers to other prompts.

    `earlier`: the journal before this session. `records`: those of the run (`recipe`); answers to the same prompts
    under other options are among them.
    """
    keys = {record.key for record in records}
    left = [record for record in earlier if record.key not in keys]
    others = sum(record.details.recipe != recipe for record in left)
    replaced = {record.key for record in left if record.details.recipe == recipe and record.outcome in FINAL}
    lines = [f"{others} records of a run with other options"] if others else []
    lines += [f"{counted(len(replaced), 'answer')} to other prompts of these cells"] if replaced else []
    end = "they stay in the journal and out of these files; use another --run-name, or --fresh to drop them"
    yield from (f"{run} also holds {line}: {end}" for line in lines)
