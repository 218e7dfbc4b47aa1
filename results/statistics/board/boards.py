"""Models beside each other: what was asked the same is ranked together, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt

import numpy as np

from needlework.results.statistics.board.alike import alike
from needlework.results.statistics.board.entry import Codes, Entry
from needlework.results.statistics.board.otherwise import asked_otherwise
from needlework.results.statistics.board.ranks import Ranks, rank_ranges
from needlework.results.statistics.intervals.clustered import Floats
from needlework.results.statistics.panels import Range

ALL = "all tasks"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model of one run: its name on the board, and its entry of each task. `setting`: by task, what the run's
    manifest says of how it was asked; `why`: why it is not ranked, empty where it is. `asked`: by task, the options
    that are a model's own affair, and are told where they differ.
    """

    name: str
    run: str
    link: str
    entries: Mapping[str, Entry]
    setting: Mapping[str, str]
    why: str = ""
    asked: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a board. `counted`: the mean score with undecided answers, and what only others could answer, as
    misses, 0..1; `low`, `high`: the 95 % interval of the mean of what was scored; `range`: the mean with all undecided
    answers as misses, and as hits. `entry`: `None` on the board of all tasks.
    """

    who: Candidate
    ranks: Ranks
    counted: float
    mean: float | None
    low: float | None
    high: float | None
    entry: Entry | None
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """Models that were asked the same cells of one task, the best score first. `trials`, `samples`: of each model, also
    those that it did not answer.

    `otherwise`: by name, in what a model was asked in another way than most.
    """

    task: str
    rows: tuple[Row, ...]
    lengths: tuple[int, ...]
    trials: int
    samples: int
    scorer: str
    otherwise: Mapping[str, str]

    @property
    def has_misses(self) -> bool:
        """Whether a model could not answer what another could, or has undecided answers."""
        return any(row.mean is None or abs(row.counted - row.mean) > 1e-9 for row in self.rows)


def boards_of(candidates: Sequence[Candidate]) -> tuple[Board, ...]:
    """Return a board for each task and each way in which it was asked, those of most models first; before them the
    board of all tasks, where models were asked several of them alike.
    """
    ranked = [each for each in candidates if not each.why]
    groups: dict[tuple[str, str, str], list[Candidate]] = {}
    for each in ranked:
        for task, entry in each.entries.items():
            groups.setdefault((task, entry.cells, each.setting.get(task, "")), []).append(each)
    parts = [(key[0], part) for key in sorted(groups) for part in _alike(groups[key], key[:1])]
    parts.sort(key=lambda part: (part[0], -len(part[1])))
    return (*_of_all(ranked), *(_board(task, own) for task, own in parts))


def _alike(who: Sequence[Candidate], tasks: Sequence[str]) -> list[list[Candidate]]:
    """The candidates in groups that were asked and scored alike in all of these tasks."""
    return alike(who, lambda each: [each.entries[task] for task in tasks])


def _board(task: str, who: Sequence[Candidate]) -> Board:
    entries = [each.entries[task] for each in who]
    filled, most, codes = filled_scores(entries)
    ranks, first = rank_ranges(sums_of(filled, codes), sums_of(most, codes)), entries[0]
    rows = [
        Row(each, rank, float(counted), entry.mean, entry.low, entry.high, entry, entry.range)
        for each, rank, counted, entry in zip(who, ranks, filled.mean(axis=1), entries, strict=True)
    ]
    lengths = tuple(length for length, *_ in first.by_length)
    samples = len(np.unique(first.samples))
    scorers = ", ".join(sorted({name for entry in entries for name in entry.scorers}))
    otherwise = asked_otherwise({each.name: each.asked.get(task, {}) for each in who})
    return Board(task, _ordered(rows), lengths, first.trials, samples, scorers, otherwise)


def _of_all(who: Sequence[Candidate]) -> list[Board]:
    """The mean over tasks, each weighing the same, of models that were asked several tasks alike."""
    groups: dict[tuple[tuple[str, str, str], ...], list[Candidate]] = {}
    for each in who:
        if len(each.entries) > 1:
            key = tuple((task, each.entries[task].cells, each.setting.get(task, "")) for task in sorted(each.entries))
            groups.setdefault(key, []).append(each)
    same = [(key, part) for key in sorted(groups) for part in _alike(groups[key], [task for task, _, _ in key])]
    found = []
    for key, own in sorted(same, key=lambda item: -len(item[1])):
        if len(own) < 2:
            continue
        boards = [_board(task, own) for task, _, _ in key]
        parts = [{row.who.name: row for row in board.rows} for board in boards]
        sums, most = (
            np.concatenate([_weighted(task, own, hits=hits) for task, _, _ in key], axis=1) for hits in (False, True)
        )
        rows = [
            _mean_row(each, rank, [part[each.name] for part in parts])
            for each, rank in zip(own, rank_ranges(sums, most), strict=True)
        ]
        trials = sum(board.trials for board in boards)
        name = f"{ALL} ({', '.join(board.task for board in boards)})"
        otherwise = {who: words for board in reversed(boards) for who, words in board.otherwise.items()}
        found.append(Board(name, _ordered(rows), (), trials, sums.shape[1], "", otherwise))
    return found


def _mean_row(who: Candidate, ranks: Ranks, rows: Sequence[Row]) -> Row:
    """The mean of the rows of all tasks; its interval from theirs, as if tasks were independent (MOVER: G. Y. Zou and
    A. Donner, Stat. Med. 27 (2008) 1693-1702).
    """
    counted = fsum(row.counted for row in rows) / len(rows)
    means, within = [row.mean for row in rows if row.mean is not None], _mean_range(rows)
    if len(means) < len(rows):
        return Row(who, ranks, counted, None, None, None, None, within)
    mean = fsum(means) / len(rows)
    ends = [(row.mean, row.low, row.high) for row in rows]
    known = [(m - low, high - m) for m, low, high in ends if m is not None and low is not None and high is not None]
    if len(known) < len(rows):
        return Row(who, ranks, counted, mean, None, None, None, within)
    below, above = (sqrt(fsum(side**2 for side in sides)) / len(rows) for sides in zip(*known, strict=True))
    return Row(who, ranks, counted, mean, mean - below, mean + above, None, within)


def _mean_range(rows: Sequence[Row]) -> Range | None:
    """Between what the mean over tasks lies; `None` where no answer is undecided, or a task has none at all."""
    ends = [row.range or (row.mean, row.mean) for row in rows]
    lows, highs = ([end for end in side if end is not None] for side in zip(*ends, strict=True))
    if len(lows) < len(rows) or all(row.range is None for row in rows):
        return None
    return fsum(lows) / len(rows), fsum(highs) / len(rows)


def _weighted(task: str, who: Sequence[Candidate], *, hits: bool) -> Floats:
    """The sums of samples of one task, as they weigh in the mean over tasks; `hits`: with undecided answers as hits."""
    entries = [each.entries[task] for each in who]
    filled = np.array([_filled(entry, hits=hits) for entry in entries])
    weighted: Floats = sums_of(filled, entries[0].samples) / filled.shape[1]
    return weighted


def filled_scores(entries: Sequence[Entry]) -> tuple[Floats, Floats, Codes]:
    """Return the scores (entries, trials) of entries that were asked the same, misses for those that are missing; the
    same with undecided answers as hits; and the sample of each trial. Trials that none of them answered are left out.
    """
    answered = [~np.isnan(entry.scores) | (entry.undecided > 0) for entry in entries]
    there = np.flatnonzero(np.any(answered, axis=0))
    kept = there if len(there) else np.arange(len(entries[0].scores))
    least, most = (np.array([_filled(entry, hits=hits)[kept] for entry in entries]) for hits in (False, True))
    return least, most, entries[0].samples[kept]


def _filled(entry: Entry, *, hits: bool) -> Floats:
    scores = np.nan_to_num(entry.scores.astype(np.float64))
    return np.where(entry.undecided > 0, 1.0, scores) if hits else scores


def sums_of(scores: Floats, samples: Codes) -> Floats:
    """Of each model and sample, the sum of scores."""
    _, codes = np.unique(samples, return_inverse=True)
    found = np.zeros((len(scores), int(codes.max(initial=-1)) + 1))
    np.add.at(found.T, codes, scores.T)
    return found


def _ordered(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.counted, row.ranks, row.who.name)))
