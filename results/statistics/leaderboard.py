"""Models and runs side by side: entries, boards with ranks, series with changes. Unscored answers count as misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from json import JSONEncoder
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from needlework.core.record import FINAL, Record
from needlework.results.records.samples import grouped, object_of, retriever_of, task_of, without_controls
from needlework.results.statistics.effective_length import EffectiveLength, absolute_length, area_under_curve
from needlework.results.statistics.intervals import Floats
from needlework.results.statistics.length_scores import length_scores
from needlework.results.statistics.paired import FEWEST_FOR_P, LEVEL, flip_tail, holm, samples_for_p
from needlework.results.statistics.panels import Share, Tally, depth_order, tally, trial_of
from needlework.results.statistics.run_facts import Times, cost_rows, latency_of, times_of
from needlework.results.statistics.tasks import overall_score, task_weights
from needlework.results.style import one_line

ALL = "all tasks"
_json = JSONEncoder(sort_keys=True, default=str).encode
# Settings of a suite that set no runs apart: how a model is addressed, and what the hash of the trials has already.
_ADDRESS = ("template", "system_prompt", "answer_budget", "thinking_budget", "answer_prefix", "length_buffer")
_NOT_COMPARED = frozenset(
    {*_ADDRESS, "lengths", "depths", "repeats", "spread", "tokenizer_model", "scorer", "retriever", "questions"}
    | {"documents", "data", "leval_data", "file_list", "data_limit"}
)
_AROUND = ("canary", "cache_policy")  # options of a run that put something beside the text


class BoardEntry(Struct, frozen=True):
    """One model on one task, or on all tasks, of one run. Scores 0..1, lengths tokens, times seconds."""

    model: str
    task: str  # with the retriever, where there is one
    scorers: frozenset[str]  # of the answers
    cells: str  # a hash of what was asked in each trial, what is right, and how it was asked and scored
    overall: Tally
    options: Mapping[str, object]  # runs of a board may differ in them: how a model is addressed, what is beside a text
    scores: Floats  # of each trial, in the order of `cells`; 0 where one is missing
    samples: NDArray[np.int32]  # of each trial the number of its sample
    weights: Floats  # of each trial its weight in the score
    by_length: Mapping[int, Tally] = {}
    effective: EffectiveLength | None = None  # by the absolute rule; `None` where one length was asked
    prompt_tokens: float | None = None  # of a trial, on average
    answer_tokens: float | None = None
    latency: Times | None = None
    dollars: float | None = None  # of all its trials; `None` where the run had no --price

    @property
    def counted(self) -> float:
        """The mean score with every missing one as a miss: what runs are ranked by."""
        return float(self.scores @ self.weights / self.weights.sum())

    @property
    def area(self) -> Share:
        """The mean score over doublings of the length; no value where one length was asked."""
        return area_under_curve([(length, scores.share) for length, scores in self.by_length.items()])

    @property
    def has_misses(self) -> bool:
        """Whether a trial has no score, and counts as a miss."""
        return self.overall.n < self.overall.trials

    @property
    def sums(self) -> Floats:
        """The sum of each sample's scores, as they weigh."""
        return np.bincount(self.samples, self.scores * self.weights).astype(np.float64)


def entries_of(records: Iterable[Record], manifest: Mapping[str, Any]) -> tuple[BoardEntry, ...]:
    """Return the entries of a run by model and task; that of all tasks first if there are several.

    Controls are left out, and of all tasks what was retrieved.
    """
    groups = grouped(without_controls(records), _model_and_task)
    entries: list[BoardEntry] = []
    for model, names in grouped(sorted(groups), lambda name: name[0]).items():
        tasks = [_entry(model, task, groups[model, task], manifest) for _, task in names]
        whole = [entry for entry in tasks if not retriever_of(groups[model, entry.task][0])]
        entries += [_of_all(whole), *tasks] if len(whole) > 1 else tasks
    return tuple(entries)


def _model_and_task(record: Record) -> tuple[str, str]:
    retriever = retriever_of(record)
    return record.model, f"{record.task_label} ({retriever})" if retriever else record.task_label


def _entry(model: str, task: str, records: Sequence[Record], manifest: Mapping[str, Any]) -> BoardEntry:
    records = sorted(records, key=_sort_key)
    trials = list(map(trial_of, records))
    names = [(trial.needle, trial.sample) for trial in trials]
    codes = {name: at for at, name in enumerate(sorted(set(names)))}
    columns = grouped(trials, lambda trial: trial.length)
    scorers = {f"{each.scorer}@{each.scorer_version}" for each in records if each.outcome in FINAL and each.scorer}
    costs = cost_rows(records, object_of(manifest.get("options")).get("price") or ())
    return BoardEntry(
        model=model,
        task=task,
        scorers=frozenset(scorers),
        cells=_hash([*map(_sort_key, records), *map(_right, records), *sorted(scorers), *_setting(manifest, task)]),
        overall=tally(trials),
        by_length={length: tally(columns[length]) for length in sorted(columns)},
        effective=absolute_length(length_scores(trials)) if len(columns) > 1 else None,
        prompt_tokens=_mean(record.response.prompt_tokens for record in records),
        answer_tokens=_mean(record.response.completion_tokens for record in records),
        latency=times_of(records, latency_of),
        dollars=sum(row.dollars or 0.0 for row in costs) if costs and costs[0].dollars is not None else None,
        options=_address(manifest, task),
        scores=np.array([trial.score or 0.0 for trial in trials]),
        samples=np.array([codes[name] for name in names], np.int32),
        weights=np.ones(len(trials)),
    )  # fmt: skip


def _of_all(entries: Sequence[BoardEntry]) -> BoardEntry:
    """The entry of the overall score. Tasks of one size leave sums of scores whole, whose test is exact."""
    tallies = {(entry.model, entry.task): entry.overall for entry in entries}
    shares = task_weights(tallies)
    weights = [shares[entry.model, entry.task] / len(entry.scores) for entry in entries]
    starts = np.cumsum([0, *(int(entry.samples.max()) + 1 for entry in entries)])
    return BoardEntry(
        model=entries[0].model,
        task=ALL,
        scorers=frozenset().union(*(entry.scorers for entry in entries)),
        cells=_hash([(entry.task, entry.cells) for entry in entries]),
        overall=overall_score(tallies),
        dollars=sum(entry.dollars or 0.0 for entry in entries) if entries[0].dollars is not None else None,
        options={name: value for entry in reversed(entries) for name, value in entry.options.items()},
        scores=np.concatenate([entry.scores for entry in entries]),
        samples=np.concatenate([entry.samples + start for entry, start in zip(entries, starts, strict=False)]),
        weights=np.repeat(np.array(weights) / min(weights), [len(entry.scores) for entry in entries]),
    )


def _sort_key(record: Record) -> tuple[object, ...]:
    at = (record.needle, record.length, depth_order(record.depth), record.repeat)
    return (*at, record.seed, record.question)


def _right(record: Record) -> object:
    """The right answers, as a record that failed has them too: `expected` may be what the scorer compared with."""
    return record.language, record.reference.get("answers") or record.reference.get("parts") or record.expected


def _hash(parts: Iterable[object]) -> str:
    return sha256("".join(map(_json, parts)).encode()).hexdigest()


def _mean(values: Iterable[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _setting(manifest: Mapping[str, Any], task: str) -> list[object]:
    """A run's settings of a task: corpus, prompt and so on. Runs with others are ranked apart."""
    suites = [
        {name: value for name, value in suite.items() if name not in _NOT_COMPARED} for suite in _suites(manifest, task)
    ]
    corpora, prompts = object_of(manifest.get("corpora")), object_of(manifest.get("prompts"))
    names = sorted({f"{suite.get('corpus')}/{suite.get('language')}" for suite in suites})
    texts = [object_of(corpora.get(name)).get("sha256") for name in names]
    return [
        suites,
        texts,
        sorted({str(prompts.get(f"{each.get('prompt')}/{each.get('language')}")) for each in suites}),
    ]


def _address(manifest: Mapping[str, Any], task: str) -> dict[str, object]:
    """A task's options that address a model: rankable runs may differ in them, with a note."""
    options, suites = object_of(manifest.get("options")), _suites(manifest, task)
    address = {name: next((suite[name] for suite in suites if name in suite), None) for name in _ADDRESS}
    return address | {name: options.get(name) for name in _AROUND}


def _suites(manifest: Mapping[str, Any], task: str) -> list[Mapping[str, Any]]:
    suites, name = manifest.get("suites"), task_of(task.partition(" (")[0])
    listed = suites if isinstance(suites, list) else []
    return [suite for suite in listed if isinstance(suite, Mapping) and suite.get("task") == name]


class ModelRun(Struct, frozen=True, eq=False):
    """One model of one run. `name`: on a board; `entries`: by task, all tasks first; `why`: why it is not
    ranked, empty where it is; `link`: to its report; `when`: its date or step in a series.
    """

    name: str
    run: str
    model: str
    entries: Mapping[str, BoardEntry]
    why: str = ""
    folder: Path = Path()
    manifest: Mapping[str, Any] = {}
    link: str = ""
    when: str = ""


class Board(Struct, frozen=True):
    """Models with the same cells of one task, best score first, each with its possible ranks.

    `differences`: by name, which settings of a model differ from those of most.
    """

    task: str
    rows: tuple[tuple[ModelRun, Ranks], ...]
    differences: Mapping[str, str]

    @property
    def first(self) -> BoardEntry:
        """The entry of the first model: lengths, trials, samples and scorers are the same for all."""
        return self.rows[0][0].entries[self.task]

    @property
    def has_misses(self) -> bool:
        """Whether a model has no score of some trial."""
        return any(run.entries[self.task].has_misses for run, _ in self.rows)


def boards_of(runs: Sequence[ModelRun]) -> tuple[Board, ...]:
    """Return a board for each task and each set of cells, those of most models first.

    Before them the board of all tasks, where several models were asked several of them alike.
    """
    groups = _groups([run for run in runs if not run.why], lambda run, task: run.entries[task].cells)
    return tuple(_board(task, group) for task, group in groups if task != ALL or len(group) > 1)


def _groups(runs: Sequence[ModelRun], key: Callable[[ModelRun, str], str]) -> list[tuple[str, list[ModelRun]]]:
    """The runs of each task that can be compared, all tasks first, of one task those of most runs."""
    groups: dict[tuple[str, str], list[ModelRun]] = {}
    for run in runs:
        for task in run.entries:
            groups.setdefault((task, key(run, task)), []).append(run)
    parts = [(task, groups[task, name]) for task, name in sorted(groups)]
    return sorted(parts, key=lambda part: (part[0] != ALL, part[0], -len(part[1])))


def _board(task: str, runs: Sequence[ModelRun]) -> Board:
    ranks = rank_ranges(np.array([run.entries[task].sums for run in runs]))
    rows = sorted(zip(runs, ranks, strict=True), key=lambda row: (-row[0].entries[task].counted, row[1], row[0].name))
    return Board(task, tuple(rows), _settings_differences({run.name: run.entries[task].options for run in runs}))


def _settings_differences(options: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Return in words, by model, the settings that differ from the most common ones.
    Of two equally common values: from the first. `options`: by model, those that address it (`template`, ...)."""
    differences: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for of_model in options.values() for name in of_model):
        values = {model: _shown(of_model.get(name)) for model, of_model in options.items()}
        usual = Counter(values.values()).most_common(1)[0][0]
        for model, value in values.items():
            if value != usual:
                differences.setdefault(model, []).append(f"{name.replace('_', ' ')} {value}, others {usual}")
    return {model: "; ".join(words) for model, words in differences.items()}


def _shown(value: object) -> str:
    return "none" if value in (None, False, "") else one_line(str(value))


# Every pair of models is compared both ways, paired by sample, one-sided, and Holm's correction over all of these tests
# keeps the chance of any wrong "better" at 5 %. A model's range goes from one place below those that are shown better
# to one place above those that are shown worse (M. Mogstad, J. Romano, A. Shaikh, D. Wilhelm, "Inference for Ranks",
# Review of Economic Studies 91 (2024) 476-518, section 3, with sign flips as the tests).
Ranks = tuple[int, int]
"""The best and the worst place that a model may have."""


def rank_ranges(sums: Floats) -> list[Ranks]:
    """Return the range of each model. `sums`: (models, samples), of each sample the sum of its scores."""
    count, samples = sums.shape
    best, worst = [1] * count, [count] * count
    if samples >= FEWEST_FOR_P:
        for winner, loser in _pairs_shown(sums):
            best[loser] += 1
            worst[winner] -= 1
    return list(zip(best, worst, strict=True))


def _pairs_shown(sums: Floats) -> list[tuple[int, int]]:
    """The pairs of which the first is shown better than the second."""
    totals = sums.sum(axis=1)
    pairs = [(one, other) for one in range(len(sums)) for other in range(len(sums)) if totals[one] > totals[other]]
    tested = sorted((flip_tail(sums[one] - sums[other]), (one, other)) for one, other in pairs)
    # Of the two tests of a pair one has a p of 50 % or more: it counts, and is never shown.
    adjusted = holm([p for p, _ in tested] + [1.0] * (len(sums) * (len(sums) - 1) - len(tested)))
    return [pair for (_, pair), p in zip(tested, adjusted, strict=False) if p is not None and p <= LEVEL]


# Moving sums with several widths (H. Cho and C. Kirch, "Bootstrap confidence intervals for multiple change points based
# on moving sum procedures", Comput. Stat. Data Anal. 175 (2022) 107552): at each border between two runs, the 1, 2, 4,
# .. runs after it are compared with as many before it. Each is a paired sign-flip test over samples, which is exact
# where these runs are alike, whatever happened elsewhere. Holm's correction over all of them keeps the chance of any
# false change at 5 %, and as in narrowest significance pursuit (P. Fryzlewicz, J. Am. Stat. Assoc. 119 (2024)
# 1462-1475) the narrowest stretches are reported, none of which overlap.
class ScoreChange(Struct, frozen=True):
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


def changes(sums: Floats, trials: float) -> tuple[ScoreChange, ...]:
    """Return the changes of a series. Fewer than `FEWEST_FOR_P` samples show nothing.
    `sums`: (runs, samples), of each sample the sum of its scores; `trials`: of each run, as a score is their mean."""
    runs, samples = sums.shape
    if runs < 2 or samples < FEWEST_FOR_P:
        return ()
    windows = _windows(runs)
    differences = [sums[at : at + width].sum(axis=0) - sums[at - width : at].sum(axis=0) for at, width in windows]
    # Both ends: a test each way, at half the level.
    adjusted = holm([min(1.0, 2 * flip_tail(each * (1.0 if each.sum() >= 0 else -1.0))) for each in differences])
    sizes = [abs(float(each.sum())) / width for each, (_, width) in zip(differences, windows, strict=True)]
    shown = sorted(
        (width, p, -size, at)
        for (at, width), p, size in zip(windows, adjusted, sizes, strict=True)
        if p is not None and p <= LEVEL
    )
    separate: list[tuple[int, int, float]] = []
    for width, p, _, at in shown:
        # Neighbours share a run and no border: both may hold a change of their own.
        if all(at + width - 1 <= other - wide or other + wide - 1 <= at - width for other, wide, _ in separate):
            separate.append((at, width, p))
    separate.sort()
    borders = [0, *(at for at, _, _ in separate), runs]
    means = [float(sums[first:last].sum(axis=1).mean() / trials) for first, last in pairwise(borders)]
    return tuple(
        ScoreChange(at - width, at + width - 1, at, means[number], means[number + 1], p)
        for number, (at, width, p) in enumerate(separate)
    )


def _windows(runs: int) -> list[tuple[int, int]]:
    """The comparisons: (the first run after a border, runs on each side)."""
    widths = [2**power for power in range(runs.bit_length()) if 2 ** (power + 1) <= runs]
    return [(at, width) for width in widths for at in range(width, runs - width + 1)]


class BoardSeries(Struct, frozen=True):
    """Runs with the same cells of a task, in order; `model`: empty for checkpoints of a training.

    `needed`: the fewest samples that can show a change in so many runs.
    """

    task: str
    model: str
    runs: tuple[ModelRun, ...]
    samples: int
    changes: tuple[ScoreChange, ...]
    needed: int

    @property
    def entries(self) -> list[BoardEntry]:
        """The runs' entries of the task."""
        return [run.entries[self.task] for run in self.runs]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its runs: date or step; where two are equal, as in one minute, the runs' names."""
        times = tuple(run.when for run in self.runs)
        return times if len(set(times)) == len(times) else tuple(run.run for run in self.runs)


def series_of(runs: Sequence[ModelRun], *, by_model: bool) -> tuple[BoardSeries, ...]:
    """Return the series of runs that are in order, that of all tasks first; what was asked once is none.

    `by_model`: each model by itself, else all are checkpoints of one training.
    """
    series = []
    for task, part in _groups(runs, lambda run, task: f"{run.model if by_model else ''} {run.entries[task].cells}"):
        if len(part) > 1:
            sums = np.array([run.entries[task].sums for run in part])
            changed = changes(sums, float(part[0].entries[task].weights.sum()))
            needed = samples_for_p(LEVEL / len(_windows(len(part))))
            model = part[0].model if by_model else ""
            series.append(BoardSeries(task, model, tuple(part), sums.shape[1], changed, needed))
    return tuple(series)
