"""A model's scores of one run."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from json import JSONEncoder
from statistics import median
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from needlework.core.record import FINAL, Record
from needlework.results.records.samples import grouped, object_of, task_of
from needlework.results.statistics.cost import cost_rows
from needlework.results.statistics.effective_length import EffectiveLength, absolute_length, area_under_curve
from needlework.results.statistics.intervals import Floats
from needlework.results.statistics.length_scores import length_scores
from needlework.results.statistics.panels import RecordInPanel, Share, Tally, depth_order, tally
from needlework.results.statistics.run_facts import latency_of
from needlework.results.statistics.tasks import overall_score, task_weights

ALL = "all tasks"
_json = JSONEncoder(sort_keys=True, default=str).encode
# Of a suite: how a model is addressed, which is the model's own affair; and what a cell's identity has already.
_ADDRESS = ("template", "system_prompt", "answer_budget", "thinking_budget", "answer_prefix", "length_buffer")
_APART = frozenset(
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
    options: Mapping[str, object]  # those that address the model, which two runs may differ in
    scores: Floats  # of each trial, in the order of `cells`; 0 where one is missing
    samples: NDArray[np.int32]  # of each trial the number of its sample
    weights: Floats  # of each trial its weight in the score
    by_length: Mapping[int, Tally] = {}
    effective: EffectiveLength | None = None  # by the absolute rule; `None` where one length was asked
    prompt_tokens: float | None = None  # of a trial, on average
    answer_tokens: float | None = None
    latency: tuple[float, float] | None = None  # median and 95th percentile
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


def entries_of(items: Iterable[RecordInPanel], manifest: Mapping[str, Any]) -> tuple[BoardEntry, ...]:
    """Return the entries of a run by model and task; that of all tasks first if there are several.

    Controls are left out, and of all tasks what was retrieved.
    """
    groups = grouped((item for item in items if not item.control), _model_and_task)
    entries: list[BoardEntry] = []
    for model, names in grouped(sorted(groups), lambda name: name[0]).items():
        tasks = [_entry(model, task, groups[model, task], manifest) for _, task in names]
        whole = [entry for entry in tasks if not groups[model, entry.task][0].retriever]
        entries += [*([_of_all(whole)] if len(whole) > 1 else []), *tasks]
    return tuple(entries)


def _model_and_task(item: RecordInPanel) -> tuple[str, str]:
    return item.trial.model, f"{item.trial.task} ({item.retriever})" if item.retriever else item.trial.task


def _entry(model: str, task: str, items: Sequence[RecordInPanel], manifest: Mapping[str, Any]) -> BoardEntry:
    ordered = sorted(((_sort_key(item.record), item) for item in items), key=lambda pair: pair[0])
    records, trials = [item.record for _, item in ordered], [item.trial for _, item in ordered]
    names = [(trial.needle, trial.sample) for trial in trials]
    codes = {name: at for at, name in enumerate(sorted(set(names)))}
    columns = grouped(trials, lambda trial: trial.length)
    scorers = {f"{each.scorer}@{each.scorer_version}" for each in records if each.outcome in FINAL and each.scorer}
    seconds = sorted(value for record in records if (value := latency_of(record)) is not None)
    costs = cost_rows(records, object_of(manifest.get("options")).get("price") or ())
    return BoardEntry(
        model=model,
        task=task,
        scorers=frozenset(scorers),
        cells=_hash([*(key for key, _ in ordered), *map(_right, records), *sorted(scorers), *_setting(manifest, task)]),
        overall=tally(trials),
        by_length={length: tally(columns[length]) for length in sorted(columns)},
        effective=absolute_length(length_scores(trials)) if len(columns) > 1 else None,
        prompt_tokens=_mean(record.response.prompt_tokens for record in records),
        answer_tokens=_mean(record.response.completion_tokens for record in records),
        latency=(median(seconds), seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]) if seconds else None,
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
    return (*at, -1 if record.seed is None else record.seed, record.question)


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
    suites = [{name: value for name, value in suite.items() if name not in _APART} for suite in _suites(manifest, task)]
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
