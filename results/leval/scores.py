"""`needlework score leval PREDICTIONS...`: L-Eval's prediction files by both rules, without a model."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import fsum
from pathlib import Path
from typing import Any, Literal

from needlework.core.errors import InputError
from needlework.results.leval.predictions import Prediction, Predictions, find_files, read_predictions, write_object
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
SCHEMA = "needlework-leval-scores-1"
ABOUT = "score L-Eval prediction files (TASK.pred.jsonl)"
_HEAD = ("task", "metric", "compat", "strict", "floor", "ceiling", "n of expected", "95 % interval")
_BROKEN_SHOWN = 3
# Metrics as tables show them.
_METRICS = ("exact_match", *ORDINALS, "loyalty", "fact", "mean", "f1", *PUBLISHED, SUMMARY)
Values = Mapping[str, float]
_Columns = Mapping[str, Mapping[int, float]]  # values by metric and index of the answer: topics have one of three each


@dataclass(frozen=True, slots=True)
class MetricMean:
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

    `scorers`: their names with version. `clustered`: intervals take the questions of a document together.
    """

    source: Predictions
    items: tuple[ScoredItem, ...]
    scorers: Mapping[Rule, str]
    means: Mapping[str, Mapping[Rule, MetricMean]]
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


@dataclass(frozen=True, slots=True)
class TaskAverage:
    """The mean of the scores of some tasks, by each rule; `None` with what is `missing` where one is incomplete.

    `n`: scored questions; `expected`: those that the tasks have.
    """

    name: str
    tasks: int
    scores: Mapping[Rule, Share]
    n: int
    expected: int
    missing: tuple[str, ...]


def score_task(source: Predictions) -> TaskScores:
    """Score every row by both rules. Raises `needlework.scoring.leval.overlap.MissingPackageError`."""
    task = source.task
    scorers: dict[Rule, Scorer] = {"compat": scorer_named(f"{task.rule}_compat"), "strict": scorer_named(task.rule)}
    references = _references(source)
    scores = {rule: _judged(scorers[rule], [row.answer for row in source.rows], references) for rule in RULES}
    scored = TaskScores(
        source=source,
        items=tuple(ScoredItem(row, {rule: scores[rule][at] for rule in RULES}) for at, row in enumerate(source.rows)),
        scorers={rule: f"{scorer.name} v{scorer.version}" for rule, scorer in scorers.items()},
        means={},
        clustered=bool(task.questions) or _is_numbered(source),
    )
    if not scored.complete:
        return scored
    means: dict[str, dict[Rule, MetricMean]] = {}
    for rule in RULES:
        for name, mean in _means(source, scores[rule], scorers[rule], references, rule).items():
            means.setdefault(name, {})[rule] = mean
    return replace(scored, means=means)


def main_metric(task: LevalTask) -> str:
    """The metric that stands for a task, and goes into averages of exams and of F1."""
    if _is_of_topics(task) or task.rule == "leval_sci_fi":
        return "mean"
    return {"exam": "exact_match", "f1": "f1", "rouge": "rougeL"}[task.evaluation]


def _is_of_topics(task: LevalTask) -> bool:
    """Whether its questions ask for the first, second and third topic in turn; words of one's own are put alike."""
    return task.rule == "leval_topic" and not task.own


def _references(source: Predictions) -> list[Reference]:
    """What is right; for topics also the other topics of all records, which share a pool of them."""
    if not _is_of_topics(source.task):
        return [Reference((row.gold,)) for row in source.rows]
    topics = dict.fromkeys(row.gold for row in source.rows)
    return [
        Reference((row.gold,), distractors=tuple(topic for topic in topics if topic != row.gold), question=row.question)
        for row in source.rows
    ]


def _judged(scorer: Scorer, answers: Sequence[str], references: Sequence[Reference]) -> list[Score]:
    return [scorer.judge(answer, reference) for answer, reference in zip(answers, references, strict=True)]


def _columns(source: Predictions, scores: Sequence[Score], rule: Rule) -> _Columns:
    columns: dict[str, dict[int, float]] = {}
    for at, score in enumerate(scores):
        for name, value in _values(source, score, at, rule).items():
            columns.setdefault(name, {})[at] = min(1.0, value)
    return columns


def _values(source: Predictions, score: Score, at: int, rule: Rule) -> Values:
    task, details = source.task, score.details
    if _is_of_topics(task):
        # Which topic was asked for: upstream counts rows; the question says it, whatever rows are missing.
        counted = ORDINALS[at % len(ORDINALS)]
        ordinal = counted if rule == "compat" else asked_for(source.rows[at].question) or counted
        return {ordinal: score.value, "mean": score.value}
    if task.rule == "leval_sci_fi":
        return {"mean": score.value} | {name: float(details[name] or 0.0) for name in ("loyalty", "fact")}
    if task.rule == "leval_rouge":
        return {name: float(details[name] or 0.0) for name in (*PUBLISHED, SUMMARY) if name in details}
    return {main_metric(task): score.value}


def _means(
    source: Predictions, scores: Sequence[Score], scorer: Scorer, references: Sequence[Reference], rule: Rule
) -> dict[str, MetricMean]:
    columns, documents = _columns(source, scores, rule), _documents(source)
    floors, ceilings = _floors_and_ceilings(source, scorer, references, rule)
    means = {}
    for name in _METRICS:
        values = columns.get(name, {})
        if not values or (name == SUMMARY and len(values) < len(source.rows)):
            continue
        mean = share(list(values.values()), [documents[at] for at in values])
        expected = source.task.expected // (len(ORDINALS) if name in ORDINALS else 1)
        means[name] = MetricMean(mean, floors[name], ceilings[name], len(values), expected)
    if source.task.rule == "leval_rouge":  # L-Eval's own summary; a mean of three means has no interval here
        mean = Share(geometric_mean({name: means[name].score.value or 0.0 for name in PUBLISHED}))
        floor, ceiling = (geometric_mean({name: ends[name] for name in PUBLISHED}) for ends in (floors, ceilings))
        means["geometric_mean"] = replace(means["rougeL"], score=mean, floor=floor, ceiling=ceiling)
    return means


def _floors_and_ceilings(
    source: Predictions, scorer: Scorer, references: Sequence[Reference], rule: Rule
) -> tuple[Values, Values]:
    """Of each metric the best mean of blind answers, and that of the references themselves."""
    golds = [row.gold for row in source.rows]
    floors: dict[str, float] = {}
    for answers in blind_answers(source.task.rule, [row.question for row in source.rows], golds):
        for name, mean in _plain_means(_columns(source, _judged(scorer, answers, references), rule)).items():
            floors[name] = max(floors.get(name, 0.0), mean)
    if source.task.rule == "leval_rouge":
        of_references = [of_itself(gold) for gold in golds]
        return floors, {name: fsum(each[name] for each in of_references) / len(golds) for name in of_references[0]}
    return floors, _plain_means(_columns(source, _judged(scorer, golds, references), rule))


def _plain_means(columns: _Columns) -> dict[str, float]:
    return {name: fsum(values.values()) / len(values) for name, values in columns.items()}


def _is_numbered(source: Predictions) -> bool:
    """Whether the rows of a file of one's own say their documents, as those that a run exports do."""
    return bool(source.rows) and all(row.document is not None for row in source.rows)


def _documents(source: Predictions) -> list[Hashable]:
    """The document of each question of a complete file; each its own where documents are not known."""
    if _is_numbered(source):
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


def averages(scored: Sequence[TaskScores]) -> tuple[TaskAverage, ...]:
    """Return the averages of one model's tasks, of each kind that it has a task of."""
    by_name = {each.task.name: each for each in scored}
    return tuple(
        _average(name, tasks, metric, by_name)
        for name, tasks, metric in _AVERAGES
        if any(task in by_name for task in tasks)
    )


def _average(name: str, tasks: Sequence[str], metric: str | None, by_name: Mapping[str, TaskScores]) -> TaskAverage:
    there = [by_name[task] for task in tasks if task in by_name]
    missing = tuple(
        f"{task} {len(by_name[task].items) if task in by_name else 0} of {TASKS[task].expected}"
        for task in tasks
        if task not in by_name or not by_name[task].complete
    )
    scores = {rule: Share(None) for rule in RULES}
    if not missing:
        weights = [1 / len(tasks)] * len(tasks)
        shares = {rule: [each.means[metric or main_metric(each.task)][rule].score for each in there] for rule in RULES}
        scores = {rule: weighted_mean(shares[rule], weights) for rule in RULES}
    n, expected = sum(len(each.items) for each in there), sum(TASKS[task].expected for task in tasks)
    return TaskAverage(name, len(tasks), scores, n, expected, missing)


def lines(model: str, tasks: Sequence[TaskScores]) -> Iterator[str]:
    """Lines for the terminal: a model's table with its averages, and what was wrong with its files.

    Scores in percent. Where both rules have the same floor, ceiling or interval it is there once, else as
    `compat / strict`. A metric that one rule does not have (ROUGE-Lsum of Chinese or Japanese words) has none there.
    """
    means = averages(tasks)
    yield one_line(f"L-Eval, {model}")
    rows = [row for task in tasks for row in _task_rows(task)] + [_average_row(average) for average in means]
    yield from aligned([_HEAD, *rows], names=2)
    for average in means:
        if average.missing:
            yield f"no {average.name}, of {average.tasks} tasks: {', '.join(average.missing)}"
    for task in tasks:
        yield from (one_line(f"{task.task.name}: {note}") for note in _notes(task))
    yield ""


def legend(tasks: Sequence[TaskScores]) -> Iterator[str]:
    """Lines below the tables of all models."""
    versions = dict.fromkeys(name for task in tasks for name in task.scorers.values())
    yield f"scorers: {', '.join(versions)}"
    yield "floor: the best that answers get which never saw the document; ceiling: what the references get"


def report_object(models: Mapping[str, Sequence[TaskScores]]) -> dict[str, Any]:
    """Return everything as a JSON object; means 0..100 to 4 decimals, as upstream gives them, items 0..1."""
    return {
        "schema": SCHEMA,
        "models": [
            {
                "model": model,
                "tasks": [_task_object(task) for task in tasks],
                "averages": [_average_object(average) for average in averages(tasks)],
            }
            for model, tasks in models.items()
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
            _both(percent2(mean.floor) for mean in means.values()),
            _both(percent2(mean.ceiling) for mean in means.values()),
            next(f"{mean.n} of {mean.expected}" for mean in means.values()),
            _both(ends(mean.score) for mean in means.values()),
        )


def _average_row(average: TaskAverage) -> tuple[str, ...]:
    values = [percent2(average.scores[rule].value) for rule in RULES]
    both = _both(ends(average.scores[rule]) for rule in RULES)
    return average.name, "mean", *values, NONE, NONE, f"{average.n} of {average.expected}", both


def _both(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(texts))


def _notes(scored: TaskScores) -> Iterator[str]:
    task, source = scored.task, scored.source
    if task.own:
        scorer = scored.scorers["strict"]
        yield f"a file of yours, scored as its rows say ({scorer}); whether any are missing is not known"
    if not scored.complete:
        yield f"{len(scored.items)} of {task.expected} questions have a score; no number from other than all of them"
    if source.broken:
        shown = "; ".join(f"line {each.line} {each.why}" for each in source.broken[:_BROKEN_SHOWN])
        more = f"; and {len(source.broken) - _BROKEN_SHOWN} more" if len(source.broken) > _BROKEN_SHOWN else ""
        yield f"broken rows, {len(source.broken)}: {shown}{more}"
    if scored.without_fact:
        yield f"answers without [fact: ...], {scored.without_fact}: that part of them is wrong"
    if source.for_judges:
        yield f"{source.for_judges} rows are for judges, and not scored here"
    if scored.means and not scored.clustered:
        yield "which questions share a document is not known; its interval takes each by itself"


def _task_object(scored: TaskScores) -> dict[str, Any]:
    means = {
        metric: {
            rule: _share_object(mean.score) | {"floor": _four(mean.floor), "ceiling": _four(mean.ceiling), "n": mean.n}
            for rule, mean in by_rule.items()
        }
        for metric, by_rule in scored.means.items()
    }
    return {
        "task": scored.task.name,
        "file": str(scored.source.path),
        "scorers": dict(scored.scorers),
        "n": len(scored.items),
        "expected": scored.task.expected,
        "complete": scored.complete,
        "clustered_by_document": scored.clustered,
        "broken": [asdict(each) for each in scored.source.broken],
        "without_fact": scored.without_fact,
        "for_judges": scored.source.for_judges,
        "metrics": means,
        "items": [
            {"line": item.prediction.line, **{rule: _score_object(score) for rule, score in item.scores.items()}}
            for item in scored.items
        ],
    }


def _score_object(score: Score) -> dict[str, Any]:
    facts = {"score": score.value, "verdict": score.verdict, "taken": score.answer, "why": score.why}
    return facts | {"details": dict(score.details)}


def _average_object(average: TaskAverage) -> dict[str, Any]:
    facts = {"name": average.name, "tasks": average.tasks, "n": average.n, "expected": average.expected}
    scores = {rule: _share_object(share) for rule, share in average.scores.items()}
    return facts | {"missing": list(average.missing)} | scores


def _share_object(share: Share) -> dict[str, float | int | None]:
    return {"score": _four(share.value), "low": _four(share.low), "high": _four(share.high)}


def _four(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 4)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "predictions", nargs="+", type=Path, metavar="PREDICTIONS", help="TASK.pred.jsonl files, or folders of them"
    )
    parser.add_argument("--task", help="the task of the one file given, whatever it is called")
    parser.add_argument("--model", help="whose answers to score, where a file has those of several models")
    parser.add_argument("--out", type=Path, help="JSON file to write, with the scores of every item")


def run(options: argparse.Namespace) -> None:
    """Write the scores of the files to `--out`, and print them. Raises `InputError`."""
    files = find_files(options.predictions, options.task)
    sources = [read_predictions(path, task, options.model) for path, task in files.files]
    _check_once_each(sources)
    try:
        models = _by_model([score_task(source) for source in sources])
    except MissingPackageError as error:
        raise InputError("PREDICTIONS", options.predictions[0], str(error)) from None
    if options.out is not None:
        write_object(options.out, report_object(models))
    for model, tasks in models.items():
        for line in lines(model, tasks):
            print(line)
    for line in legend([task for tasks in models.values() for task in tasks]):
        print(line)
    for path in files.passed_over:
        print(one_line(f"passed over: {path} (its name is no task's)"))
    if options.out is not None:
        print(f"written to {options.out}")


def _check_once_each(sources: Sequence[Predictions]) -> None:
    paths: dict[tuple[str, str], Path] = {}
    for source in sources:
        before = paths.setdefault((source.model, source.task.name), source.path)
        if before is not source.path:
            remedy = f"{source.model} has {source.task.name} in {before} too: give one of them"
            raise InputError("PREDICTIONS", source.path, remedy)


def in_published_order(tasks: Iterable[TaskScores]) -> list[TaskScores]:
    """Tasks in the order of the published tables, those of one's own behind them."""
    order = {name: position for position, name in enumerate(TASKS)}
    return sorted(tasks, key=lambda each: order.get(each.task.name, len(order)))


def _by_model(scored: Sequence[TaskScores]) -> dict[str, list[TaskScores]]:
    models = sorted({each.source.model for each in scored})
    return {model: in_published_order(each for each in scored if each.source.model == model) for model in models}
