"""Boards: entries side by side, ranks, changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt

import numpy as np

from needlework.results.statistics.intervals import Floats, Interval
from needlework.results.statistics.leaderboard.entries import BoardEntry, Codes, comparable_groups, settings_differences
from needlework.results.statistics.paired import FEWEST_FOR_P, flip_tail, holm
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
    entries: Mapping[str, BoardEntry]
    setting: Mapping[str, str]
    why: str = ""
    asked: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One line of a board. `counted`: the mean score with undecided answers, and what only others could answer, as
    misses, 0..1; `interval`: the 95 % interval of the mean of what was scored; `range`: the mean with all undecided
    answers as misses, and as hits. `entry`: `None` on the board of all tasks.
    """

    who: Candidate
    ranks: Ranks
    counted: float
    mean: float | None
    interval: Interval | None
    range: Range | None
    entry: BoardEntry | None


@dataclass(frozen=True, slots=True)
class Board:
    """Models that were asked the same cells of one task, the best score first. `trials`, `samples`: of each model, also
    those that it did not answer.

    `differences`: by name, which settings of a model differ from those of most.
    """

    task: str
    rows: tuple[BoardRow, ...]
    lengths: tuple[int, ...]
    trials: int
    samples: int
    scorer: str
    differences: Mapping[str, str]

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
    return comparable_groups(who, lambda each: [each.entries[task] for task in tasks])


def _board(task: str, who: Sequence[Candidate]) -> Board:
    entries = [each.entries[task] for each in who]
    filled, most, codes = filled_scores(entries)
    ranks, first = rank_ranges(sums_of(filled, codes), sums_of(most, codes)), entries[0]
    rows = [
        BoardRow(each, rank, float(counted), entry.overall.mean, entry.overall.interval, entry.overall.range, entry)
        for each, rank, counted, entry in zip(who, ranks, filled.mean(axis=1), entries, strict=True)
    ]
    lengths = tuple(first.by_length)
    samples = len(np.unique(first.samples))
    scorers = ", ".join(sorted({name for entry in entries for name in entry.scorers}))
    differences = settings_differences({each.name: each.asked.get(task, {}) for each in who})
    return Board(task, _ordered(rows), lengths, first.overall.trials, samples, scorers, differences)


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
        differences = {who: words for board in reversed(boards) for who, words in board.differences.items()}
        found.append(Board(name, _ordered(rows), (), trials, sums.shape[1], "", differences))
    return found


def _mean_row(who: Candidate, ranks: Ranks, rows: Sequence[BoardRow]) -> BoardRow:
    """The mean of the rows of all tasks; its interval from theirs, as if tasks were independent (MOVER: G. Y. Zou and
    A. Donner, Stat. Med. 27 (2008) 1693-1702).
    """
    counted = fsum(row.counted for row in rows) / len(rows)
    means, within = [row.mean for row in rows if row.mean is not None], _mean_range(rows)
    if len(means) < len(rows):
        return BoardRow(who, ranks, counted, None, None, within, None)
    mean = fsum(means) / len(rows)
    known = [(m - row.interval.low, row.interval.high - m) for m, row in zip(means, rows, strict=True) if row.interval]
    if len(known) < len(rows):
        return BoardRow(who, ranks, counted, mean, None, within, None)
    below, above = (sqrt(fsum(side**2 for side in sides)) / len(rows) for sides in zip(*known, strict=True))
    return BoardRow(who, ranks, counted, mean, Interval(mean - below, mean + above, 0), within, None)


def _mean_range(rows: Sequence[BoardRow]) -> Range | None:
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


def filled_scores(entries: Sequence[BoardEntry]) -> tuple[Floats, Floats, Codes]:
    """Return the scores (entries, trials) of entries that were asked the same, misses for those that are missing; the
    same with undecided answers as hits; and the sample of each trial. Trials that none of them answered are left out.
    """
    answered = [~np.isnan(entry.scores) | (entry.undecided > 0) for entry in entries]
    there = np.flatnonzero(np.any(answered, axis=0))
    kept = there if len(there) else np.arange(len(entries[0].scores))
    least, most = (np.array([_filled(entry, hits=hits)[kept] for entry in entries]) for hits in (False, True))
    return least, most, entries[0].samples[kept]


def _filled(entry: BoardEntry, *, hits: bool) -> Floats:
    scores = np.nan_to_num(entry.scores.astype(np.float64))
    return np.where(entry.undecided > 0, 1.0, scores) if hits else scores


def sums_of(scores: Floats, samples: Codes) -> Floats:
    """Of each model and sample, the sum of scores."""
    _, codes = np.unique(samples, return_inverse=True)
    found = np.zeros((len(scores), int(codes.max(initial=-1)) + 1))
    np.add.at(found.T, codes, scores.T)
    return found


def _ordered(rows: Sequence[BoardRow]) -> tuple[BoardRow, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.counted, row.ranks, row.who.name)))


# Every pair of models is compared both ways, paired by sample, one-sided, and Holm's correction over all of these tests
# keeps the chance of any wrong "better" at 5 %. A model's range goes from one place below those that are shown better
# to one place above those that are shown worse (M. Mogstad, J. Romano, A. Shaikh, D. Wilhelm, "Inference for Ranks",
# Review of Economic Studies 91 (2024) 476-518, section 3, with sign flips as the tests).
LEVEL = 0.05
_HOPELESS = 60  # times smaller than its bound no p is; at most half of the tests can be shown, one of each pair
_MANY = 200  # models; beyond, p is taken to be its bound: ranges are a little wider, and there at once
_NONE = 1e-12
Ranks = tuple[int, int]
"""The best and the worst place that a model may have."""


def rank_ranges(sums: Floats, most: Floats | None = None) -> list[Ranks]:
    """Return the range of each model. `sums`: (models, samples), of each sample the sum of its scores; `most`: the same
    with undecided answers as hits, where they are misses in `sums`. Better is who is so with its own as misses and the
    other's as hits.
    """
    count, samples = sums.shape
    better = _shown(sums, sums if most is None else most) if samples >= FEWEST_FOR_P and count > 1 else ()
    best, worst = [1] * count, [count] * count
    for winner, loser in better:
        best[loser] += 1
        worst[winner] -= 1
    return list(zip(best, worst, strict=True))


def needed_samples(count: int) -> int:
    """The fewest samples that can tell one of so many models from another: a p of n samples is 1 / 2^n at least."""
    return next(n for n in range(FEWEST_FOR_P, 64) if count * (count - 1) * 0.5**n <= LEVEL)


def _shown(least: Floats, most: Floats) -> Sequence[tuple[int, int]]:
    """The pairs of which the first is shown better than the second."""
    count = len(least)
    tests = count * (count - 1)
    tested = []
    for one in range(count):
        for wins, differences in ((True, least[one] - most[one + 1 :]), (False, least[one + 1 :] - most[one])):
            totals, squares = differences.sum(axis=1), (differences**2).sum(axis=1)
            # p is no larger than this (W. Hoeffding, JASA 58 (1963) 13-30), which is enough where that is small enough.
            bounds = np.exp(-(totals**2) / np.maximum(2 * squares, _NONE))
            for at in np.flatnonzero((totals > 0) & (bounds <= _HOPELESS * 2 * LEVEL / tests)):
                other = one + 1 + int(at)
                enough = count > _MANY or bounds[at] <= LEVEL / tests
                p = float(bounds[at]) if enough else flip_tail(differences[at])
                tested.append((p, (one, other) if wins else (other, one)))
    shown = []
    for rank, (p, pair) in enumerate(sorted(tested)):
        if p * (tests - rank) > LEVEL:
            break
        shown.append(pair)
    return shown


# Moving sums with several widths (H. Cho and C. Kirch, "Bootstrap confidence intervals for multiple change points based
# on moving sum procedures", Comput. Stat. Data Anal. 175 (2022) 107552): at each border between two runs, the 1, 2, 4,
# .. runs after it are compared with as many before it. Each is a paired sign-flip test over samples, which is exact
# where these runs are alike, whatever happened elsewhere. Holm's correction over all of them keeps the chance of any
# false change at 5 %, and as in narrowest significance pursuit (P. Fryzlewicz, J. Am. Stat. Assoc. 119 (2024)
# 1462-1475) the narrowest stretches are reported, none of which overlap.
@dataclass(frozen=True, slots=True)
class ScoreChange:
    """A change between the runs `first` and `last` (numbers from 0), most likely just before the run `at`.

    `before`, `after`: the mean scores, 0..1, of the runs up to it since the last change, and from it on to the next.
    `p`: adjusted by Holm.
    """

    first: int
    last: int
    at: int
    before: float
    after: float
    p: float

    @property
    def is_fall(self) -> bool:
        """Whether scores are lower since."""
        return self.after < self.before


def changes(sums: Floats, trials: int) -> tuple[ScoreChange, ...]:
    """Return the changes of a series. `sums`: (runs, samples), of each sample the sum of its scores; `trials`: of each
    run, which a score is the mean of. Fewer than `FEWEST_FOR_P` samples show nothing.
    """
    runs, samples = sums.shape
    if runs < 2 or samples < FEWEST_FOR_P:
        return ()
    windows = windows_of(runs)
    differences = [sums[at : at + width].sum(axis=0) - sums[at - width : at].sum(axis=0) for at, width in windows]
    # Both ends: a test each way, at half the level.
    values = [min(1.0, 2 * flip_tail(each * (1.0 if each.sum() >= 0 else -1.0))) for each in differences]
    adjusted = [1.0 if p is None else p for p in holm(values)]
    sizes = [abs(float(each.sum())) / width for each, (_, width) in zip(differences, windows, strict=True)]
    shown = sorted(
        (width, p, -size, at) for (at, width), p, size in zip(windows, adjusted, sizes, strict=True) if p <= LEVEL
    )
    kept: list[tuple[int, int, float]] = []
    for width, p, _, at in shown:
        # Neighbours share a run and no border: both may hold a change of their own.
        if all(at + width - 1 <= other - wide or other + wide - 1 <= at - width for other, wide, _ in kept):
            kept.append((at, width, p))
    kept.sort()
    return _told(sums.sum(axis=1) / max(1, trials), kept)


def windows_of(runs: int) -> list[tuple[int, int]]:
    """What is compared: (the first run after a border, runs on each side)."""
    widths = [2**power for power in range(runs.bit_length()) if 2 ** (power + 1) <= runs]
    return [(at, width) for width in widths for at in range(width, runs - width + 1)]


def changes_needed_samples(runs: int) -> int:
    """The fewest samples that can show a change in so many runs: a p of n samples is 2 / 2^n at least."""
    tests = len(windows_of(runs))
    return next(n for n in range(FEWEST_FOR_P, 64) if tests * 2.0 ** (1 - n) <= LEVEL)


def _told(means: Floats, kept: list[tuple[int, int, float]]) -> tuple[ScoreChange, ...]:
    borders = [0, *(at for at, _, _ in kept), len(means)]
    return tuple(
        ScoreChange(
            first=at - width,
            last=at + width - 1,
            at=at,
            before=float(means[borders[number] : at].mean()),
            after=float(means[at : borders[number + 2]].mean()),
            p=p,
        )
        for number, (at, width, p) in enumerate(kept)
    )


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One run of a series: its place by name (a date, a step); `counted`: its score with what has none as a miss."""

    place: str
    who: Candidate
    entry: BoardEntry
    counted: float


@dataclass(frozen=True, slots=True)
class BoardSeries:
    """Runs that asked the same cells of a task, in order. `samples`: of each run, also those that it did not answer."""

    task: str
    model: str
    points: tuple[SeriesPoint, ...]
    samples: int
    changes: tuple[ScoreChange, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What tells its runs apart: their places; where two have the same one, as in one minute, the runs' names."""
        places = tuple(point.place for point in self.points)
        return places if len(set(places)) == len(places) else tuple(point.who.run for point in self.points)


def series_of(ordered: Sequence[tuple[str, str, Candidate]]) -> tuple[BoardSeries, ...]:
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
        found += [_series(task, model, own) for own in _series_alike(task, groups[key]) if len(own) > 1]
    return tuple(found)


def _series_alike(task: str, runs: Sequence[tuple[str, Candidate]]) -> list[list[tuple[str, Candidate]]]:
    return comparable_groups(runs, lambda run: [run[1].entries[task]])


def _series(task: str, model: str, own: Sequence[tuple[str, Candidate]]) -> BoardSeries:
    entries = [who.entries[task] for _, who in own]
    scores, _, samples = filled_scores(entries)
    points = tuple(
        SeriesPoint(place, who, entry, float(mean))
        for (place, who), entry, mean in zip(own, entries, scores.mean(axis=1), strict=True)
    )
    found = changes(sums_of(scores, samples), scores.shape[1])
    return BoardSeries(task, model, points, len(np.unique(entries[0].samples)), found)
