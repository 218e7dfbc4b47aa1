"""What a run measured, one line each: tasks, and the contexts that their questions were asked in, never mixed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.results.statistics.panels import tally
from needlework.results.tables.headline import score_and_interval
from needlework.results.web.browsing.filters import Filter
from needlework.results.web.browsing.rows import CONTEXTS, WHOLE, Row

_NAMES = ("model", "task", "language", "context")


@dataclass(frozen=True, slots=True)
class Part:
    """`same`: model, task, language and context, by which one filters. `about`: what the task measures.

    `score`, `interval`: percent; `n`: trials with a score; `unscored`: the others, in words.
    """

    same: tuple[str, str, str, str]
    about: str
    score: str
    interval: str
    n: int
    unscored: str

    @property
    def context(self) -> str:
        """What the questions were asked in, in words."""
        return CONTEXTS.get(self.same[3], self.same[3])

    def address(self, wanted: Filter, choices: Container[str]) -> str:
        """The list of this part alone; of all, where this is what is listed. `choices`: names that not all share."""
        own = self._own(choices)
        return wanted.address(**(dict.fromkeys(own, "") if self.chosen(wanted, choices) else own))

    def chosen(self, wanted: Filter, choices: Container[str]) -> bool:
        """Whether this part is listed, and no other."""
        return all(getattr(wanted, name) == value for name, value in self._own(choices).items())

    def _own(self, choices: Container[str]) -> dict[str, str]:
        return {name: value for name, value in zip(_NAMES, self.same, strict=True) if name in choices}


def parts_of(rows: Iterable[Row]) -> tuple[Part, ...]:
    """The parts of a run, in the order of its rows."""
    found: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault(_same(row), []).append(row)
    return tuple(_part(same, of) for same, of in found.items())


def one_part(rows: Sequence[Row], wanted: Filter) -> list[Row]:
    """Of rows, those that may share a heatmap; none where more than one thing was measured.

    Where no context is asked for, it is the whole one.
    """
    kept = [row for row in rows if (wanted.context or WHOLE) == row.same["context"]] or list(rows)
    return kept if len({_same(row) for row in kept}) == 1 else []


def part_words(row: Row) -> str:
    """`doc_size, BM25 search`."""
    return f"{row.same['task']}, {CONTEXTS.get(row.same['context'], row.same['context'])}"


def _same(row: Row) -> tuple[str, str, str, str]:
    return row.same["model"], row.same["task"], row.same["language"], row.same["context"]


def _part(same: tuple[str, str, str, str], rows: Sequence[Row]) -> Part:
    told = tally(row.trial for row in rows)
    score, interval = score_and_interval(told)
    unscored = ", ".join(f"{count} {name}" for name, count in told.unscored.items())
    task = TASKS.get(same[1])
    return Part(same, task.about if task else "", score, interval, told.n, unscored)
