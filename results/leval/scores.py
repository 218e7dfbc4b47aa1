"""`needlework score leval PREDICTIONS...`: L-Eval's prediction files by both rules, without a model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path
from typing import Any, Literal

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.results.leval.predictions import Prediction, Predictions, find_files, read_predictions
from needlework.results.statistics.agreement import share
from needlework.results.statistics.panels import Share
from needlework.results.statistics.tasks import weighted_mean
from needlework.results.statistics.wording import ends, percent2
from needlework.results.style import NONE, one_line
from needlework.results.tables.terminal import aligned
from needlework.scoring.leval.overlap import (
    PUBLISHED,
    SUMMARY,
    MissingPackageError,
    blind_answers,
    geometric_mean,
    of_itself,
)
from needlework.scoring.leval.tasks import CLOSED, ORDINALS, TASKS, WITH_F1, WITH_ROUGE, LevalTask, asked_for
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Reference, Score, Scorer

Rule = Literal["compat", "strict"]
RULES: tuple[Rule, ...] = ("compat", "strict")
GEOMETRIC = "geometric_mean"
# Metrics as tables show them.
_ORDER = ("exact_match", *ORDINALS, "loyalty", "fact", "mean", "f1", *PUBLISHED, SUMMARY)
Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of one metric by one rule, 0..1, beside what blind answers and the references get.

    `n`: items of the metric; `expected`: those that the task has.
    """

    score: Share
    floor: float
    ceiling: float
    n: int
    expected: int


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """One answer: its prediction, and its score by each rule."""

    prediction: Prediction
    scores: Mapping[Rule, Score]


@dataclass(frozen=True, slots=True)
class TaskScores:
    """One model's task. `means` by metric and rule; none where items are missing, too many or broken.

    `clustered`: intervals take the questions of a document together. `main`: the metric that goes into averages.
    `without_fact`: sci_fi answers that lack `[fact: ...]`.
    """

    source: Predictions
    items: tuple[ScoredItem, ...]
    scorers: Mapping[Rule, str]
    means: Mapping[str, Mapping[Rule, Mean]]
    clustered: bool

    @property
    def task(self) -> LevalTask:
        """Which task."""
        return self.source.task

    @property
    def complete(self) -> bool:
        """Whether every question of the task has an answer that was scored, and no other row is there."""
        return not self.source.broken and len(self.items) == self.task.expected

    @property
    def without_fact(self) -> int:
        """How many answers have no `[fact: ...]` where one belongs."""
        return sum(item.scores["compat"].details.get("fact_missing") is True for item in self.items)


def score_task(source: Predictions) -> TaskScores:
    """Score every row by both rules. Raises `needlework.scoring.leval.overlap.MissingPackageError`."""
    scorers = _scorers(source.task)
    references = _references(source)
    answers = [row.answer for row in source.rows]
    scores = {rule: _judged(scorers[rule], answers, references) for rule in RULES}
    items = tuple(ScoredItem(row, {rule: scores[rule][at] for rule in RULES}) for at, row in enumerate(source.rows))
    names = {rule: f"{scorer.name} v{scorer.version}" for rule, scorer in scorers.items()}
    clustered = bool(source.task.questions) or _numbered(source)
    bare = TaskScores(source, items, names, {}, clustered)
    if not bare.complete:
        return bare
    columns = {rule: _columns(source, scores[rule], rule) for rule in RULES}
    ends = {rule: _ends(source, scorers[rule], references, rule) for rule in RULES}
    means: dict[str, dict[Rule, Mean]] = {}
    for rule in RULES:
        for name, mean in _means(source, columns[rule], *ends[rule]).items():
            means.setdefault(name, {})[rule] = mean
    return TaskScores(source, items, names, means, clustered)


def main_metric(task: LevalTask) -> str:
    """The metric that stands for a task of exams, or of F1."""
    if _of_topics(task) or task.rule == "leval_sci_fi":
        return "mean"
    return {"exam": "exact_match", "f1": "f1", "rouge": "rougeL"}[task.evaluation]


def _scorers(task: LevalTask) -> dict[Rule, Scorer]:
    return {"compat": scorer_named(f"{task.rule}_compat"), "strict": scorer_named(task.rule)}


def _references(source: Predictions) -> list[Reference]:
    """What is right; for topics also the other topics of all records, which share a pool of them."""
    if not _of_topics(source.task):
        return [Reference((row.gold,)) for row in source.rows]
    topics = dict.fromkeys(row.gold for row in source.rows)
    return [
        Reference((row.gold,), distractors=tuple(topic for topic in topics if topic != row.gold), question=row.question)
        for row in source.rows
    ]


def _judged(scorer: Scorer, answers: Sequence[str], references: Sequence[Reference]) -> list[Score]:
    return [scorer.judge(answer, reference) for answer, reference in zip(answers, references, strict=True)]


def _columns(source: Predictions, scores: Sequence[Score], rule: Rule) -> dict[str, dict[int, float]]:
    """The values of each metric, by the item's index: topics have one of three each."""
    columns: dict[str, dict[int, float]] = {}
    for at, (row, score) in enumerate(zip(source.rows, scores, strict=True)):
        for name, value in _values(source.task, score, _ordinal(source.task, row, at, rule)).items():
            columns.setdefault(name, {})[at] = min(1.0, value)
    return columns


def _ordinal(task: LevalTask, row: Prediction, at: int, rule: Rule) -> str:
    """Which topic was asked for. Upstream counts rows; the question says it, whatever rows are missing."""
    counted = ORDINALS[at % len(ORDINALS)]
    if not _of_topics(task) or rule == "compat":
        return counted
    return asked_for(row.question) or counted


def _values(task: LevalTask, score: Score, ordinal: str) -> Values:
    if _of_topics(task):
        return {ordinal: score.value, "mean": score.value}
    if task.rule == "leval_sci_fi":
        return {"loyalty": _detail(score, "loyalty"), "fact": _detail(score, "fact"), "mean": score.value}
    if task.rule == "leval_rouge":
        return {name: _detail(score, name) for name in (*PUBLISHED, SUMMARY) if name in score.details}
    return {main_metric(task): score.value}


def _detail(score: Score, name: str) -> float:
    return float(score.details[name] or 0.0)


def _ends(source: Predictions, scorer: Scorer, references: Sequence[Reference], rule: Rule) -> tuple[Values, Values]:
    """Floor and ceiling of each metric: the best blind answers, and the references themselves."""
    golds = [row.gold for row in source.rows]
    floors: dict[str, float] = {}
    for answers in blind_answers(source.task.rule, [row.question for row in source.rows], golds):
        for name, mean in _plain_means(_columns(source, _judged(scorer, answers, references), rule)).items():
            floors[name] = max(floors.get(name, 0.0), mean)
    if source.task.rule == "leval_rouge":
        own = [of_itself(gold) for gold in golds]
        return floors, {name: fsum(each[name] for each in own) / len(own) for name in own[0]}
    return floors, _plain_means(_columns(source, _judged(scorer, golds, references), rule))


def _plain_means(columns: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    return {name: fsum(values.values()) / len(values) for name, values in columns.items()}


def _means(
    source: Predictions, columns: Mapping[str, Mapping[int, float]], floors: Values, ceilings: Values
) -> dict[str, Mean]:
    documents = _documents(source)
    found = {}
    for name in _ORDER:
        values = columns.get(name, {})
        if not values or (name == SUMMARY and len(values) < len(source.rows)):
            continue
        mean = share(list(values.values()), [documents[at] for at in values])
        expected = source.task.expected // (len(ORDINALS) if name in ORDINALS else 1)
        found[name] = Mean(mean, floors[name], ceilings[name], len(values), expected)
    if source.task.rule == "leval_rouge":
        found[GEOMETRIC] = _geometric(found, floors, ceilings)
    return found


def _geometric(found: Mapping[str, Mean], floors: Values, ceilings: Values) -> Mean:
    """L-Eval's own summary of ROUGE; of a mean of three means it has no interval."""

    def of(value: Callable[[str], float]) -> float:
        return geometric_mean({name: value(name) for name in PUBLISHED})

    mean = Share(of(lambda name: found[name].score.value or 0.0))
    return replace(found["rougeL"], score=mean, floor=of(floors.__getitem__), ceiling=of(ceilings.__getitem__))


def _of_topics(task: LevalTask) -> bool:
    """Whether its questions ask for the first, second and third topic in turn; words of one's own are put alike."""
    return task.rule == "leval_topic" and not task.own


def _numbered(source: Predictions) -> bool:
    """Whether the rows of a file of one's own say their documents, as those that a run exports do."""
    return bool(source.rows) and all(row.document is not None for row in source.rows)


def _documents(source: Predictions) -> list[Hashable]:
    """The document of each question of a complete file; each its own where documents are not known."""
    if _numbered(source):
        return [row.document for row in source.rows]
    if not source.task.questions:
        return list(range(source.task.expected))
    return [document for document, count in enumerate(source.task.questions) for _ in range(count)]


_AVERAGES = (
    ("closed average", CLOSED, None),
    ("F1 average", WITH_F1, None),
    ("ROUGE-1 average", WITH_ROUGE, "rouge1"),
    ("ROUGE-2 average", WITH_ROUGE, "rouge2"),
    ("ROUGE-L average", WITH_ROUGE, "rougeL"),
)


@dataclass(frozen=True, slots=True)
class Average:
    """The mean of the scores of some tasks, by each rule; `None` with what is `missing` where one is incomplete.

    `n`: scored questions; `expected`: those that the tasks have.
    """

    name: str
    tasks: int
    scores: Mapping[Rule, Share]
    n: int
    expected: int
    missing: tuple[str, ...]


def averages(scored: Sequence[TaskScores]) -> tuple[Average, ...]:
    """Return the averages of one model's tasks, of each kind that it has a task of."""
    by_name = {each.task.name: each for each in scored}
    return tuple(
        _average(name, tasks, metric, by_name)
        for name, tasks, metric in _AVERAGES
        if any(task in by_name for task in tasks)
    )


def _average(name: str, tasks: Sequence[str], metric: str | None, by_name: Mapping[str, TaskScores]) -> Average:
    there = [by_name[task] for task in tasks if task in by_name]
    missing = tuple(
        f"{task} {len(by_name[task].items) if task in by_name else 0} of {TASKS[task].expected}"
        for task in tasks
        if task not in by_name or not by_name[task].complete
    )
    weights = [1 / len(tasks)] * len(tasks)
    scores = {
        rule: Share(None)
        if missing
        else weighted_mean([each.means[metric or main_metric(each.task)][rule].score for each in there], weights)
        for rule in RULES
    }
    n = sum(len(each.items) for each in there)
    return Average(name, len(tasks), scores, n, sum(TASKS[task].expected for task in tasks), missing)


SCHEMA = "needlework-leval-scores-1"
HEAD = ("task", "metric", "compat", "strict", "floor", "ceiling", "n of expected", "95 % interval")
_BROKEN_SHOWN = 3

Model = tuple[str, Sequence[TaskScores], Sequence[Average]]


def lines(models: Sequence[Model], passed_over: Sequence[Path]) -> Iterator[str]:
    """Lines for the terminal: a table for each model, its averages, and what was wrong with its files.

    Scores in percent. Where both rules have the same floor, ceiling or interval it is there once, else as
    `compat / strict`. A metric that one rule does not have (ROUGE-Lsum of Chinese or Japanese words) has none there.
    """
    for model, tasks, means in models:
        yield one_line(f"L-Eval, {model}")
        rows = [row for task in tasks for row in _task_rows(task)]
        rows += [_average_row(average) for average in means]
        yield from aligned([HEAD, *rows], names=2)
        yield from _notes(tasks, means)
        yield ""
    versions = dict.fromkeys(name for _, tasks, _ in models for task in tasks for name in task.scorers.values())
    yield f"scorers: {', '.join(versions)}"
    yield "floor: the best that answers get which never saw the document; ceiling: what the references get"
    for path in passed_over:
        yield one_line(f"passed over: {path} (its name is no task's)")


def report_object(models: Sequence[Model]) -> dict[str, Any]:
    """Return everything as a JSON object; means 0..100 to 4 decimals, as upstream gives them, items 0..1."""
    return {
        "schema": SCHEMA,
        "models": [
            {
                "model": model,
                "tasks": [_task_object(task) for task in tasks],
                "averages": [_average_object(average) for average in means],
            }
            for model, tasks, means in models
        ],
    }


def _task_rows(scored: TaskScores) -> Iterator[tuple[str, ...]]:
    name = scored.task.name
    if not scored.means:
        yield name, NONE, NONE, NONE, NONE, NONE, f"{len(scored.items)} of {scored.task.expected}", NONE
    for metric, means in scored.means.items():
        yield (
            name,
            metric,
            *(percent2(means[rule].score.value) if rule in means else NONE for rule in RULES),
            _both(means, lambda mean: percent2(mean.floor)),
            _both(means, lambda mean: percent2(mean.ceiling)),
            next(f"{mean.n} of {mean.expected}" for mean in means.values()),
            _both(means, lambda mean: ends(mean.score)),
        )


def _both(means: Mapping[Rule, Mean], text: Callable[[Mean], str]) -> str:
    return " / ".join(dict.fromkeys(text(means[rule]) for rule in RULES if rule in means))


def _average_row(average: Average) -> tuple[str, ...]:
    compat, strict = (average.scores[rule] for rule in RULES)
    count = f"{average.n} of {average.expected}"
    both = " / ".join(dict.fromkeys((ends(compat), ends(strict))))
    return average.name, "mean", percent2(compat.value), percent2(strict.value), NONE, NONE, count, both


def _notes(tasks: Sequence[TaskScores], means: Sequence[Average]) -> Iterator[str]:
    for average in means:
        if average.missing:
            yield f"no {average.name}, of {average.tasks} tasks: {', '.join(average.missing)}"
    for scored in tasks:
        name, source = scored.task.name, scored.source
        if scored.task.own:
            scorer = scored.scorers["strict"]
            yield f"{name}: a file of yours, scored as its rows say ({scorer}); whether any are missing is not known"
        if not scored.complete:
            told = f"{len(scored.items)} of {scored.task.expected} questions have a score"
            yield f"{name}: {told}; no number from other than all of them"
        yield from _broken_rows(scored)
        if scored.without_fact:
            yield f"{name}: answers without [fact: ...], {scored.without_fact}: that part of them is wrong"
        if source.for_judges:
            yield f"{name}: {source.for_judges} rows are for judges, and not scored here"
        if scored.means and not scored.clustered:
            yield f"{name}: which questions share a document is not known; its interval takes each by itself"


def _broken_rows(scored: TaskScores) -> Iterator[str]:
    broken = scored.source.broken
    if broken:
        shown = "; ".join(f"line {each.line} {each.why}" for each in broken[:_BROKEN_SHOWN])
        more = f"; and {len(broken) - _BROKEN_SHOWN} more" if len(broken) > _BROKEN_SHOWN else ""
        yield one_line(f"{scored.task.name}: broken rows, {len(broken)}: {shown}{more}")


def _task_object(scored: TaskScores) -> dict[str, Any]:
    source = scored.source
    return {
        "task": scored.task.name,
        "file": str(source.path),
        "scorers": dict(scored.scorers),
        "n": len(scored.items),
        "expected": scored.task.expected,
        "complete": scored.complete,
        "clustered_by_document": scored.clustered,
        "broken": [{"line": each.line, "why": each.why} for each in source.broken],
        "without_fact": scored.without_fact,
        "for_judges": source.for_judges,
        "metrics": {
            metric: {rule: _mean_object(mean) for rule, mean in means.items()} for metric, means in scored.means.items()
        },
        "items": [
            {
                "line": item.prediction.line,
                **{
                    rule: {
                        "score": score.value,
                        "verdict": score.verdict,
                        "taken": score.answer,
                        "why": score.why,
                        "details": dict(score.details),
                    }
                    for rule, score in item.scores.items()
                },
            }
            for item in scored.items
        ],
    }


def _mean_object(mean: Mean) -> dict[str, Any]:
    return {**_share_object(mean.score), "floor": _four(mean.floor), "ceiling": _four(mean.ceiling), "n": mean.n}


def _average_object(average: Average) -> dict[str, Any]:
    return {
        "name": average.name,
        "tasks": average.tasks,
        "n": average.n,
        "expected": average.expected,
        "missing": list(average.missing),
        **{rule: _share_object(share) for rule, share in average.scores.items()},
    }


def _share_object(share: Share) -> dict[str, float | None]:
    return {"score": _four(share.value), "low": _four(share.low), "high": _four(share.high)}


def _four(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 4)


ABOUT = "score L-Eval prediction files (TASK.pred.jsonl)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "predictions", nargs="+", type=Path, metavar="PREDICTIONS", help="TASK.pred.jsonl files, or folders of them"
    )
    parser.add_argument("--task", help="the task of the one file given, whatever it is called")
    parser.add_argument("--model", help="whose answers to score, where a file has those of several models")
    parser.add_argument("--out", type=Path, help="JSON file to write, with the scores of every item")


def run(options: argparse.Namespace) -> None:
    """Print the scores of the files, and write them to `--out`. Raises `InputError`."""
    found = find_files(options.predictions, options.task)
    sources = [read_predictions(path, task, options.model) for path, task in found.files]
    _check_once_each(sources)
    try:
        scored = [score_task(source) for source in sources]
    except MissingPackageError as error:
        raise InputError("PREDICTIONS", options.predictions[0], str(error)) from None
    by_model = _by_model(scored)
    parts = [(model, tasks, averages(tasks)) for model, tasks in by_model.items()]
    for line in lines(parts, found.passed_over):
        print(line)
    if options.out is not None:
        content = json.dumps(report_object(parts), indent=1, ensure_ascii=True, allow_nan=False)
        try:
            write_whole(options.out, f"{content}\n".encode())
        except OSError as error:
            raise InputError("--out", options.out, f"cannot be written ({error.strerror or error})") from None
        print(f"written to {options.out}")


def _check_once_each(sources: Sequence[Predictions]) -> None:
    seen: dict[tuple[str, str], Path] = {}
    for source in sources:
        key = (source.model, source.task.name)
        if key in seen:
            remedy = f"{source.model} has {source.task.name} in {seen[key]} too: give one of them"
            raise InputError("PREDICTIONS", source.path, remedy)
        seen[key] = source.path


def _by_model(scored: Sequence[TaskScores]) -> dict[str, list[TaskScores]]:
    """Each model's tasks, in the order of the published tables; those of one's own behind them."""
    order = {name: place for place, name in enumerate(TASKS)}
    models: dict[str, list[TaskScores]] = {}
    for each in sorted(scored, key=lambda each: (each.source.model, order.get(each.task.name, len(order)))):
        models.setdefault(each.source.model, []).append(each)
    return models
