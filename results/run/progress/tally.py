"""What is known of a run while it goes on, in numbers and as a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from needlework.results.records.record import Record, WaitingAnswer

_SILENT_S = 30.0  # and three times as long as any answer has been waited for
_LONG_S = 10.0  # that one cell is waited for, and three times as long as an answer takes


@dataclass(slots=True)
class Tally:
    """Cells that have an answer, in the order in which answers come and not in that of the tests.

    `tokens`: the sum of the cells' lengths, for the time that is left. `asked`: prompt tokens that models were sent;
    `shared` ones of them were not computed again.
    """

    cells: int
    tokens: int
    cells_done: int = 0
    tokens_done: int = 0
    asked: int = 0
    shared: int = 0
    _early: dict[str, int] = field(default_factory=dict)  # prompt tokens of answers whose test is still to come, by key
    _ended: set[str] = field(default_factory=set)  # keys of the cells whose test has ended
    _known: int = 0  # cells that had an answer when `line` was last told of new ones
    _heard: float = 0.0  # when that was, seconds
    _longest: float = 0.0  # between two such times, seconds
    _running: dict[str, float] = field(default_factory=dict)  # when tests began that have not ended, seconds
    _took: float = 0.0  # all answers of this session, seconds

    def answered(self, answer: WaitingAnswer) -> None:
        """Count an answer that came before its test's turn. Its length is not known: its prompt is nearly as long.

        One may be read after its test has ended, when all is counted: in a log half a minute lies between two looks.
        """
        if answer["key"] not in self._early and answer["key"] not in self._ended:
            self._early[answer["key"]] = tokens = answer["prompt"].get("tokens", 0)
            self._count(tokens, tokens, answer["timing"])

    def add(self, record: Record) -> None:
        """Count a cell whose test has ended."""
        self._ended.add(record["key"])
        early = self._early.pop(record["key"], None)
        if early is not None:
            self.tokens_done += record["length"] - early
            return
        if self.cells_done >= self.cells:  # a further trial, of --top-up
            self.cells += 1
            self.tokens += record["length"]
        timing = record["timing"]
        if timing.get("replayed"):
            self.cells_done += 1
            self.tokens -= record["length"]  # no time will be spent on it
            return
        self._count(record["length"], record["prompt"].get("tokens", 0), timing)

    def _count(self, length: int, asked: int, timing: Mapping[str, Any]) -> None:
        self.cells_done += 1
        self.tokens_done += length
        self.asked += asked
        self.shared += timing.get("cached_tokens") or 0
        self._took += timing.get("latency_s") or 0.0

    def begin(self, test: str, seconds: float) -> None:
        """A cell's test begins."""
        self._running[test] = seconds

    def end(self, test: str) -> None:
        """It has ended."""
        self._running.pop(test, None)

    def line(self, seconds: float) -> str:
        """`42/121 cells · 1,240 tok/s · 47 % shared · 1:32 left`; `seconds` have passed, more at every call."""
        parts = [f"{self.cells_done}/{self.cells} cells"]
        if silent := self._silent(seconds):
            return " · ".join([*parts, f"no answer for {_clock(silent)}"])
        if self.asked and seconds > 0:
            parts.append(f"{self.asked / seconds:,.0f} tok/s")
            if self.shared:
                parts.append(f"{100 * self.shared / self.asked:.0f} % shared")
        if waited := self._waited_for_one(seconds):
            parts.append(f"waiting {_clock(waited)} for one cell")
        if not waited or seconds - self._heard < _LONG_S:
            parts += self._left(seconds)
        return " · ".join(parts)

    def _left(self, seconds: float) -> list[str]:
        if self.tokens_done and self.tokens > self.tokens_done:
            return [f"{_clock(seconds * (self.tokens / self.tokens_done - 1))} left"]
        return [f"{_clock(seconds)} so far"] if self.cells_done < self.cells else []

    def _silent(self, seconds: float) -> float:
        """For how many seconds no answer has come, where that is unusual; else 0.

        A server that does not answer has no pace, and nobody knows how long it will be away.
        """
        waited = seconds - self._heard
        if self.cells_done > self._known:
            self._known, self._heard, self._longest = self.cells_done, seconds, max(self._longest, waited)
            return 0.0
        return waited if self._known and waited > max(_SILENT_S, 3 * self._longest) else 0.0

    def _waited_for_one(self, seconds: float) -> float:
        """For how many seconds one cell has held up others that have their answers, where that is unusual; else 0."""
        if len(self._running) != 1 or not self._early:
            return 0.0
        waited = seconds - min(self._running.values())
        return waited if waited > max(_LONG_S, 3 * self._took / self.cells_done) else 0.0


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
