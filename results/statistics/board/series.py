"""Runs of one model, or checkpoints of one training, in order: a series for each task, with its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from needlework.results.statistics.board.alike import alike
from needlework.results.statistics.board.boards import Candidate, filled_scores, sums_of
from needlework.results.statistics.board.changes import Change, changes
from needlework.results.statistics.board.entry import Entry


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a series: its place by name (a date, a step); `counted`: its score with what has none as a miss."""

    place: str
    who: Candidate
    entry: Entry
    counted: float


@dataclass(frozen=True, slots=True)
class Series:
    """Runs that asked the same cells of a task, in order. `samples`: of each run, also those that it did not answer."""

    task: str
    model: str
    points: tuple[Point, ...]
    samples: int
    changes: tuple[Change, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What tells its runs apart: their places; where two have the same one, as in one minute, the runs' names."""
        places = tuple(point.place for point in self.points)
        return places if len(set(places)) == len(places) else tuple(point.who.run for point in self.points)


def series_of(ordered: Sequence[tuple[str, str, Candidate]]) -> tuple[Series, ...]:
    """Return the series of runs that are in order. `ordered`: the place of each by name; the model that it is a run of,
    empty where all are of one training; and the run. What was asked only once is no series.
    """
    groups: dict[tuple[str, str, str, str], list[tuple[str, Candidate]]] = {}
    for place, model, who in ordered:
        for task, entry in who.entries.items():
            key = (task, model, entry.cells, who.setting.get(task, ""))
            groups.setdefault(key, []).append((place, who))
    found = []
    for key in sorted(groups):
        task, model = key[:2]
        found += [_series(task, model, own) for own in _alike(task, groups[key]) if len(own) > 1]
    return tuple(found)


def _alike(task: str, runs: Sequence[tuple[str, Candidate]]) -> list[list[tuple[str, Candidate]]]:
    return alike(runs, lambda run: [run[1].entries[task]])


def _series(task: str, model: str, own: Sequence[tuple[str, Candidate]]) -> Series:
    entries = [who.entries[task] for _, who in own]
    scores, _, samples = filled_scores(entries)
    points = tuple(
        Point(place, who, entry, float(mean))
        for (place, who), entry, mean in zip(own, entries, scores.mean(axis=1), strict=True)
    )
    found = changes(sums_of(scores, samples), scores.shape[1])
    return Series(task, model, points, len(np.unique(entries[0].samples)), found)
