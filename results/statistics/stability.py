"""Do answers hold still? What the stability probe saw, over all records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from needlework.results.records.record import Record


@dataclass(frozen=True, slots=True)
class Flips:
    """Answers to prompts that had been asked before. `texts` and `scores`: how many differed from the first answer's.

    `unanswered`: errors, which say nothing about stability and are not among `asked`.
    """

    asked: int = 0
    texts: int = 0
    scores: int = 0
    unanswered: int = 0

    def __add__(self, other: Flips) -> Flips:
        return Flips(
            self.asked + other.asked,
            self.texts + other.texts,
            self.scores + other.scores,
            self.unanswered + other.unanswered,
        )


@dataclass(frozen=True, slots=True)
class Stability:
    """The probe's result: cells asked again, flips in all and by how they were asked, ids of cells with a flip."""

    cells: int
    flips: Flips
    by_how: dict[str, Flips]
    flipped: tuple[str, ...]

    def as_object(self) -> dict[str, Any]:
        """For results.json."""
        return asdict(self)


def stability_of(records: Iterable[Record]) -> Stability | None:
    """Sum up the probe; `None` when no cell was asked again."""
    cells, by_how, flipped = 0, dict[str, Flips](), list[str]()
    for record in records:
        again = record["details"].get("stability")
        if not again:
            continue
        cells += 1
        found = [(each["how"], _flips(record, each)) for each in again]
        for how, flips in found:
            by_how[how] = by_how.get(how, Flips()) + flips
        if any(flips.texts for _, flips in found):
            flipped.append(record["id"])
    return Stability(cells, sum(by_how.values(), Flips()), by_how, tuple(flipped)) if cells else None


def _flips(record: Record, again: dict[str, Any]) -> Flips:
    if again["outcome"] == "error":
        return Flips(unanswered=1)
    return Flips(
        1,
        texts=int(again["text"] != record["response"].get("text")),
        scores=int((again["outcome"], again["score"]) != (record["outcome"], record["score"])),
    )


def stability_line(stability: Stability) -> str:
    """`stability: 4 cells asked again 12 times (warm 4, cold 4, batch 4): the text differed 0 times, the score 0`."""
    ways = ", ".join(f"{how} {flips.asked}" for how, flips in stability.by_how.items())
    flips = stability.flips
    line = (
        f"stability: {stability.cells} cells asked again {flips.asked} times ({ways}): "
        f"the text differed {flips.texts} times, the score {flips.scores} times"
    )
    if flips.unanswered:
        line += f"; {flips.unanswered} requests failed"
    if stability.flipped:
        shown = ", ".join(stability.flipped[:3]) + (", ..." if len(stability.flipped) > 3 else "")
        line += f"; {shown}"
    return line
