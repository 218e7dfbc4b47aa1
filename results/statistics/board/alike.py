"""Which runs of the same cells were asked and scored alike, so that they stand in one table.

A trial that failed, was skipped or is invalid has no scorer: it tells no two runs apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from needlework.results.statistics.board.entry import Codes, Entry

T = TypeVar("T")


def alike(runs: Iterable[T], entries: Callable[[T], Sequence[Entry]]) -> list[list[T]]:
    """Return the runs in groups, each in the order given. `entries`: those of a run, of the same tasks and cells for
    all of them.

    Runs are together where they had the same questions, as far as those are known, and no trial has two scorers. A run
    that could be in several groups, as one with few scores, is in the largest one.
    """
    whole = list(runs)
    names: dict[str, int] = {}
    told = [np.concatenate([_told(entry, names) for entry in entries(run)]) for run in whole]
    groups: list[tuple[list[int], Codes]] = []
    # Those that tell most come first: whoever fits them fits all that is known.
    for at in sorted(range(len(whole)), key=lambda at: -np.count_nonzero(told[at])):
        fitting = [place for place, (_, known) in enumerate(groups) if _fit(known, told[at])]
        if not fitting:
            groups.append(([at], told[at]))
            continue
        place = max(fitting, key=lambda place: len(groups[place][0]))
        own, known = groups[place]
        groups[place] = [*own, at], np.where(known > 0, known, told[at])
    return [[whole[at] for at in sorted(own)] for own, _ in groups]


def _told(entry: Entry, names: dict[str, int]) -> Codes:
    """Numbers from 1 for its questions and for the scorer of each trial; 0 for what is not known."""
    numbers = [names.setdefault(name, len(names) + 1) if name else 0 for name in (entry.questions, *entry.scorers)]
    questions, scorers = np.array(numbers[:1], np.int32), np.array([*numbers[1:], 0], np.int32)
    return np.concatenate([questions, scorers[entry.scored_by]])


def _fit(known: Codes, other: Codes) -> bool:
    return not np.any((known != other) & (known > 0) & (other > 0))
