"""What is known of a run while it goes on, in numbers and as a line."""

from __future__ import annotations

from dataclasses import dataclass, field

from needlework.results.records.record import Record, WaitingAnswer


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

    def answered(self, answer: WaitingAnswer) -> None:
        """Count an answer that came before its test's turn. Its length is not known: its prompt is nearly as long."""
        if answer["key"] not in self._early:
            self._early[answer["key"]] = tokens = answer["prompt"].get("tokens", 0)
            self._count(tokens, tokens, answer["timing"].get("cached_tokens") or 0)

    def add(self, record: Record) -> None:
        """Count a cell whose test has ended."""
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
        self._count(record["length"], record["prompt"].get("tokens", 0), timing.get("cached_tokens") or 0)

    def _count(self, length: int, asked: int, shared: int) -> None:
        self.cells_done += 1
        self.tokens_done += length
        self.asked += asked
        self.shared += shared

    def line(self, seconds: float) -> str:
        """`42/121 cells · 1,240 tok/s · 47 % shared · 1:32 left`; `seconds` have passed."""
        parts = [f"{self.cells_done}/{self.cells} cells"]
        if self.asked and seconds > 0:
            parts.append(f"{self.asked / seconds:,.0f} tok/s")
            if self.shared:
                parts.append(f"{100 * self.shared / self.asked:.0f} % shared")
        if self.tokens_done and self.tokens > self.tokens_done:
            parts.append(f"{_clock(seconds * (self.tokens / self.tokens_done - 1))} left")
        elif self.cells_done < self.cells:
            parts.append(f"{_clock(seconds)} so far")
        return " · ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
