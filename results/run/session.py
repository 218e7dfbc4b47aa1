"""A session's cells, pace, exit status, and the lines on answers of earlier sessions."""

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
    """The cells of a session, by the node ids of their tests; tests without a cell do not count."""

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
        """The records of a run that are of the selected cells, or of further ones, which `now` has the records of. A
        run's folder may hold more, of earlier commands."""
        return of_tests(records, {*self._selected, *(record.nodeid for record in now)})

    def planned(self, records: Iterable[Record]) -> int:
        """The trials of a run with these records, those included that the session did not come to."""
        recorded = [record.nodeid for record in records]
        return len(recorded) + len(self._selected - self._ended - set(recorded))


class SessionPace(Struct, frozen=True):
    """The trials that a session sent, and its seconds, loading the model included."""

    trials: int
    prompt_tokens: int
    seconds: float

    @property
    def trial_s(self) -> float:
        """Seconds a trial."""
        return self.seconds / self.trials

    @property
    def tokens_per_s(self) -> float:
        """Prompt tokens a second."""
        return self.prompt_tokens / self.seconds


def pace_of(now: Iterable[Record], seconds: float) -> SessionPace | None:
    """The pace of a session with these records; `None` where it sent nothing, or everything failed."""
    tokens = [
        record.prompt.tokens
        for record in now
        if not record.timing.replayed and record.outcome != "error" and record.prompt.tokens
    ]
    return SessionPace(len(tokens), sum(tokens), seconds) if tokens and seconds > 0 else None


def time_lines(settings: Settings, lengths: Sequence[int]) -> list[str]:
    """How long trials of these `lengths` (tokens, one each) take at `--tokens-per-s`."""
    speed = settings.tokens_per_s
    if not speed or not lengths:
        return []
    whole, one = sum(lengths) / speed, sum(lengths) / len(lengths) / speed
    return [f"at {speed:,.0f} prompt tokens a second: at most {duration(whole)}, {duration(one)} a trial"]


GATE_FAILED, INTERRUPTED, UNWRITTEN, INCONCLUSIVE, VOID = 1, 2, 4, 10, 11  # 0 to 5 mean what pytest means by them


def exit_status(status: int, *, fault: bool, early: bool, void: bool, verdicts: Sequence[Verdict]) -> int:
    """`status`: pytest's own. `fault`: results could not be written. `early`: the run ended before its last cell."""
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
    """Whether more than `max_errors` percent of the cells are invalid, errors, or refused though they fit."""
    void = sum(record.outcome in ("invalid", "error") or refused_below_window(record, windows) for record in records)
    return void * 100 > max_errors * len(records)


def replayed_lines(replayed: int, records: int, written: str, total: int) -> Iterator[str]:
    """One line where answers of this session's `records` were `replayed`: they may be of a server that is gone.

    `written`: when the journal was written last, as text; `total`: the run's trials, of earlier sessions too.
    """
    if replayed:
        fresh = records - replayed
        now = f"{fresh} were asked now" if fresh else "none was asked now (--fresh asks all again)"
        more = f"; the run has {total} in all" if total > records else ""
        yield f"{replayed} of {records} answers are from this run's journal, written {written}; {now}{more}"


def kept_lines(answers: int) -> Iterator[str]:
    """One line where so many answers arrived that the run ended too early to score."""
    if answers:
        yield f"{counted(answers, 'more answer')} came before the end and {'is' if answers == 1 else 'are'} kept"


def left_lines(run: str, earlier: Sequence[Record], records: Sequence[Record], recipe: str) -> Iterator[str]:
    """A line for records of other options in the journal that are none of the run, and one for answers to other
    prompts of the run's cells.

    `earlier`: the journal before this session; `records`: those of the run, with its `recipe`, which may have taken
    over answers to the same prompts from other options.
    """
    keys = {record.key for record in records}
    left = [record for record in earlier if record.key not in keys]
    others = sum(record.details.recipe != recipe for record in left)
    replaced = {record.key for record in left if record.details.recipe == recipe and record.outcome in FINAL}
    lines = [f"{others} records of a run with other options"] if others else []
    lines += [f"{counted(len(replaced), 'answer')} to other prompts of these cells"] if replaced else []
    end = "they stay in the journal and out of these files; use another --run-name, or --fresh to drop them"
    yield from (f"{run} also holds {line}: {end}" for line in lines)
