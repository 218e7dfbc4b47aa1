"""Panels: scores by length and depth."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from msgspec import Struct

from needlework.core.record import SCORED, UNDECIDED, UNSCORED, OutcomeName, Record
from needlework.results.records.samples import grouped, without_controls
from needlework.results.statistics.intervals import Interval, counts_of, interval_of
from needlework.results.style import natural

OUTCOMES: tuple[OutcomeName, ...] = (*SCORED, *UNSCORED)
NEEDLEWORK = "needlework"
_SCORED = frozenset(SCORED)
PanelKey = tuple[str, str, str]
"""Model, task, needle."""
Range = tuple[float, float]
"""A mean with all undecided trials as misses, and with all as hits, 0..1."""


def range_of(mean: float | None, n: int, counts: Mapping[OutcomeName, int]) -> Range | None:
    """Return the range of a mean of `n` scores by the undecided ones of `counts`; `None` if none are."""
    undecided = sum(counts.get(name, 0) for name in UNDECIDED)
    if not undecided:
        return None
    total, trials = (mean or 0.0) * n, n + undecided
    return total / trials, (total + undecided) / trials


class Share(Struct, frozen=True):
    """A number with its 95 % interval; `None` where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Rate(Share, frozen=True):
    """A share of `n` trials or pairs of trials, 0..1."""

    n: int = 0


def rate_of(values: Sequence[float], clusters: Sequence[Hashable]) -> Rate:
    """The mean of values 0..1 with its interval; `clusters`: groups of dependent values."""
    if not values:
        return Rate(None)
    mean, interval = fsum(values) / len(values), interval_of(counts_of(values, clusters))
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Rate(mean, low, high, len(values))


class ScoredTrial(NamedTuple):
    """The facts of one record that summaries need."""

    model: str
    task: str
    needle: str  # of questions on documents `questions`
    length: int
    depth: float | None
    sample: int  # the needle and haystack that other depths share; of questions on documents their document
    outcome: OutcomeName
    score: float | None
    context_alone: bool = False  # the length is that of the context, not of the whole prompt with its answer

    @property
    def sample_name(self) -> tuple[str, str, str, int]:
        """The name of its sample, unique over tasks and models."""
        return self.model, self.task, self.needle, self.sample


class Tally(Struct, frozen=True):
    """Counts and mean score of trials."""

    n: int  # trials with a score
    mean: float | None  # of those scores, 0..1; `None` when n is 0
    interval: Interval | None  # `None` for fewer than two samples
    counts: Mapping[OutcomeName, int]  # trials of every outcome, zeros included
    samples: int = 0  # of the scores
    range: Range | None = None  # of the mean; `None` where no trial is undecided

    @property
    def trials(self) -> int:
        """All trials, with and without a score."""
        return sum(self.counts.values())

    @property
    def unscored(self) -> dict[OutcomeName, int]:
        """The outcomes without a score that occurred, in the order of `UNSCORED`."""
        return {name: self.counts[name] for name in UNSCORED if self.counts[name]}

    @property
    def share(self) -> Share:
        """The mean and its interval."""
        return Share(self.mean, *((self.interval.low, self.interval.high) if self.interval else (None, None)))


class Panel(Struct, frozen=True):
    """The data of one heatmap: every trial of one (model, task, needle)."""

    model: str
    task: str
    needle: str
    lengths: tuple[int, ...]  # tokens, ascending
    depths: tuple[float | None, ...]  # percent, ascending, `None` ("all") last
    cells: Mapping[tuple[int, float | None], Tally]  # by length and depth; a missing key is a cell that never ran
    columns: tuple[Tally, ...]  # of each length, over trials and not over cells: a missing cell shows in its n
    rows: tuple[Tally, ...]  # of each depth
    overall: Tally
    source: str = NEEDLEWORK  # the system whose files these are
    note: str = ""  # on the run, to stand beside the score
    uneven: bool = False  # the answers decided how often each length was asked: no score over all lengths
    context_alone: bool = False  # lengths are those of contexts

    @property
    def name(self) -> str:
        """`model · task · needle`."""
        return " · ".join(filter(None, self.key))

    @property
    def key(self) -> PanelKey:
        """Model, task, needle."""
        return self.model, self.task, self.needle


def summarise(records: Iterable[Record]) -> tuple[Panel, ...]:
    """Return the panels of `records` by model, task and needle; the order of records does not matter.

    Controls are left out: they have a table of their own (`needlework.results.statistics.tasks`).
    """
    return panels_of(map(trial_of, without_controls(records)))


def trial_of(record: Record) -> ScoredTrial:
    """Reduce a record. A score beside an outcome that has none is ignored."""
    outcome = record.outcome
    return ScoredTrial(
        record.model,
        record.task_label,
        record.panel,
        record.length,
        record.depth,
        record.sample_number,
        outcome,
        record.score if outcome in _SCORED else None,
        bool(record.prompt.length_means),
    )


def panels_of(trials: Iterable[ScoredTrial], source: str = NEEDLEWORK) -> tuple[Panel, ...]:
    """Return one panel for each (model, task, needle), sorted."""
    groups = grouped(trials, lambda trial: (trial.model, trial.task, trial.needle))
    return tuple(_panel(key, groups[key], source) for key in sorted(groups, key=panel_order))


def panel_order(key: PanelKey) -> tuple[Any, ...]:
    """Sort key of panels: `n2` before `n16`."""
    return (*key[:2], natural(key[2]))


def tally(trials: Iterable[ScoredTrial]) -> Tally:
    """Count and average some trials. A scored outcome needs a finite score in 0..1."""
    every = list(trials)
    outcomes = Counter([trial.outcome for trial in every])
    counts: dict[OutcomeName, int] = {name: outcomes[name] for name in OUTCOMES}
    scored = every if outcomes.keys() <= _SCORED else [trial for trial in every if trial.outcome in _SCORED]
    scores: list[float] = []
    for trial in scored:
        score = trial.score
        if score is None or not 0 <= score <= 1:  # NaN is not
            raise ValueError(f"outcome {trial.outcome} with score {score!r}; a score is in 0..1")
        scores.append(score)
    by_sample = counts_of(scores, [trial.sample_name for trial in scored])
    mean = fsum(scores) / len(scores) if scores else None
    limits = range_of(mean, len(scores), counts)
    return Tally(len(scores), mean, interval_of(by_sample), counts, by_sample.samples, limits)


def decided(trials: Iterable[ScoredTrial], *, hits: bool) -> list[ScoredTrial]:
    """The trials with all undecided ones as hits, or as misses: a claim must hold for both."""
    outcome: OutcomeName = "found" if hits else "wrong"
    return [
        trial._replace(outcome=outcome, score=float(hits)) if trial.outcome in UNDECIDED else trial for trial in trials
    ]


def depth_order(depth: float | None) -> tuple[bool, float]:
    """Sort key of depths: ascending, "all" last."""
    return depth is None, depth or 0.0


def _panel(key: PanelKey, trials: list[ScoredTrial], source: str) -> Panel:
    cells = grouped(trials, lambda trial: (trial.length, trial.depth))
    columns, rows = grouped(trials, lambda trial: trial.length), grouped(trials, lambda trial: trial.depth)
    lengths, depths = tuple(sorted(columns)), tuple(sorted(rows, key=depth_order))
    return Panel(
        *key,
        lengths=lengths,
        depths=depths,
        cells={at: tally(cells[at]) for at in sorted(cells, key=lambda at: (at[0], depth_order(at[1])))},
        columns=tuple(tally(columns[length]) for length in lengths),
        rows=tuple(tally(rows[depth]) for depth in depths),
        overall=tally(trials),
        source=source,
        context_alone=any(trial.context_alone for trial in trials),
    )
