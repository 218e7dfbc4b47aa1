"""`needlework score leval PREDICTIONS...`: L-Eval's prediction files by both rules, without a model."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from math import fsum
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.haystack_fixtures.tasks.published.leval_files import CLOSED, LEVAL_TASKS, WITH_F1, WITH_ROUGE, LevalTask
from needlework.results.files.json_files import json_bytes
from needlework.results.leval.predictions import Answers, broken_rows, find_files, read_answers
from needlework.results.records.samples import grouped
from needlework.results.statistics.panels import Share, rate_of
from needlework.results.statistics.tasks import weighted_mean
from needlework.results.statistics.wording import interval_cell, percent2
from needlework.results.style import NONE, folded_table, one_line
from needlework.scoring.leval import overlap
from needlework.scoring.leval.exact import ORDINALS, asked_for
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Reference, Score

Rule = Literal["compat", "strict"]
RULES: tuple[Rule, ...] = ("compat", "strict")
SCHEMA = "needlework-leval-scores-1"
ABOUT = "score L-Eval prediction files (TASK.pred.jsonl)"
_HEAD = ("task", "metric", "compat", "strict", "floor", "ceiling", "n of expected", "95 % interval")
# Metrics in the order of tables.
_METRICS = ("exact_match", *ORDINALS, "loyalty", "fact", "mean", "f1", *overlap.PUBLISHED, overlap.SUMMARY)
_AVERAGES = (
    ("closed average", CLOSED, ""),
    ("F1 average", WITH_F1, "f1"),
    ("ROUGE-1 average", WITH_ROUGE, "rouge1"),
    ("ROUGE-2 average", WITH_ROUGE, "rouge2"),
    ("ROUGE-L average", WITH_ROUGE, "rougeL"),
)
_Columns = dict[str, dict[int, float]]  # values 0..1 by metric and index of the row: a topic's row has one of three


class MetricMean(Struct, frozen=True):
    """The mean of one metric by one rule, 0..1, with those of blind answers (floor) and references."""

    score: Share
    floor: float
    ceiling: float
    n: int  # items of the metric
    expected: int  # items that the task has


class TaskScores(Struct, frozen=True):
    """The scores of one model's answers to a task."""

    task: LevalTask
    source: Answers
    scorers: Mapping[Rule, str]  # names with version
    scores: Mapping[Rule, Sequence[Score]]  # of each row of the source
    means: Mapping[str, Mapping[Rule, MetricMean]]  # by metric; empty for an incomplete task

    @property
    def complete(self) -> bool:
        """Whether every question of the task has a scored answer, and there is no other row."""
        return not self.source.broken and len(self.source.rows) == self.task.expected

    @property
    def clustered(self) -> bool:
        """Whether intervals take the questions of a document together."""
        return _documents(self.task, self.source) is not None

    @property
    def without_fact(self) -> int:
        """The number of answers without `[fact: ...]` where one belongs."""
        return sum(score.details.get("fact_missing") is True for score in self.scores["compat"])


class TaskAverage(Struct, frozen=True):
    """The mean of the scores of some tasks, by each rule; no value where one is incomplete."""

    name: str
    tasks: int
    scores: Mapping[Rule, Share]
    n: int  # scored questions
    expected: int  # questions that the tasks have
    missing: tuple[str, ...]  # incomplete tasks: `tpo 3 of 269`


def score_tasks(sources: Iterable[tuple[LevalTask, Answers]]) -> list[TaskScores]:
    """The scores of files, in the order of the published tables; the user's own come last."""
    order = {name: position for position, name in enumerate(LEVAL_TASKS)}
    return sorted(starmap(score_task, sources), key=lambda scores: order.get(scores.task.name, len(order)))


def score_task(task: LevalTask, source: Answers) -> TaskScores:
    """Score every row by both rules. Raises `InputError` without the package that a rule needs."""
    references, answers = _references(task, source), [row.answer for row in source.rows]
    names: dict[Rule, str] = {"compat": f"{task.scorer}_compat", "strict": task.scorer}
    try:
        scores = {rule: _judge(name, answers, references) for rule, name in names.items()}
    except overlap.MissingPackageError as error:
        raise InputError("PREDICTIONS", source.path, str(error)) from None
    versions = {rule: f"{name} v{scorer_named(name).version}" for rule, name in names.items()}
    means: dict[str, dict[Rule, MetricMean]] = {}
    scored = TaskScores(task, source, versions, scores, means)
    for rule in RULES if scored.complete else ():
        for metric, mean in _means(scored, names[rule], references, rule).items():
            means.setdefault(metric, {})[rule] = mean
    return scored


def main_metric(task: LevalTask) -> str:
    """The metric that represents a task, and goes into averages of exams and of F1."""
    if _is_of_topics(task) or task.scorer == "leval_sci_fi":
        return "mean"
    return {"exam": "exact_match", "f1": "f1", "rouge": "rougeL"}[task.evaluation]


def _is_of_topics(task: LevalTask) -> bool:
    """Whether its questions ask for the first, second and third topic in turn; not in a file of one's own."""
    return task.scorer == "leval_topic" and not task.is_own


def _references(task: LevalTask, source: Answers) -> list[Reference]:
    """The references; for topics with the other topics of all records, which share a pool."""
    if not _is_of_topics(task):
        return [Reference((row.gold,)) for row in source.rows]
    topics = {row.gold: None for row in source.rows}
    others = {topic: tuple(other for other in topics if other != topic) for topic in topics}
    return [Reference((row.gold,), distractors=others[row.gold], question=row.question) for row in source.rows]


def _judge(scorer: str, answers: Sequence[str], references: Sequence[Reference]) -> list[Score]:
    judge = scorer_named(scorer).judge
    return [judge(answer, reference) for answer, reference in zip(answers, references, strict=True)]


def _columns(task: LevalTask, source: Answers, scores: Sequence[Score], rule: Rule) -> _Columns:
    columns = _Columns()
    for index, score in enumerate(scores):
        parts: Iterable[str] = ()
        values = {main_metric(task): score.value}
        if _is_of_topics(task):
            # Which topic was asked for: upstream counts rows; the question says it, whatever rows are missing.
            counted = ORDINALS[index % len(ORDINALS)]
            values[counted if rule == "compat" else asked_for(source.rows[index].question) or counted] = score.value
        elif task.scorer == "leval_sci_fi":
            parts = ("loyalty", "fact")
        elif task.scorer == "leval_rouge":
            parts = [name for name in (*overlap.PUBLISHED, overlap.SUMMARY) if name in score.details]
        for name, value in (values | {name: float(score.details[name] or 0.0) for name in parts}).items():
            columns.setdefault(name, {})[index] = min(1.0, value)
    return columns


def _means(scored: TaskScores, scorer: str, references: Sequence[Reference], rule: Rule) -> dict[str, MetricMean]:
    task, source, golds = scored.task, scored.source, [row.gold for row in scored.source.rows]

    def plain_means(answers: Sequence[str]) -> dict[str, float]:
        columns = _columns(task, source, _judge(scorer, answers, references), rule)
        return {name: fsum(values.values()) / len(values) for name, values in columns.items()}

    columns = _columns(task, source, scored.scores[rule], rule)
    documents = _documents(task, source) or list(range(len(golds)))  # where they are not known, each by itself
    blind = overlap.blind_answers(task.scorer, [row.question for row in source.rows], golds)
    of_blind = [plain_means(answers) for answers in blind]
    floors = {name: max(means[name] for means in of_blind if name in means) for name in chain(*of_blind)}
    ceilings = plain_means(golds)
    means = {}
    for name in _METRICS:
        values = columns.get(name, {})
        if values and (name != overlap.SUMMARY or len(values) == len(source.rows)):
            score = rate_of(list(values.values()), [documents[index] for index in values])
            expected = task.expected // (len(ORDINALS) if name in ORDINALS else 1)
            means[name] = MetricMean(score, floors[name], ceilings[name], len(values), expected)
    if task.scorer == "leval_rouge":  # L-Eval's own summary; a mean of three means has no interval here
        scores = {name: mean.score.value or 0.0 for name, mean in means.items()}
        mean, floor, ceiling = map(overlap.geometric_mean, (scores, floors, ceilings))
        means["geometric_mean"] = MetricMean(Share(mean), floor, ceiling, len(golds), task.expected)
    return means


def _documents(task: LevalTask, source: Answers) -> list[int | None] | None:
    """The document of each question of a complete file, if they are known; exported rows have their numbers."""
    if source.rows and all(row.document is not None for row in source.rows):
        return [row.document for row in source.rows]
    return [document for document, count in enumerate(task.questions) for _ in range(count)] or None


def averages(scored: Sequence[TaskScores]) -> list[TaskAverage]:
    """Return the averages of one model's tasks, of each kind that it has a task of."""
    by_name = {scores.task.name: scores for scores in scored}
    rows = []
    for name, tasks, metric in _AVERAGES:
        present = [by_name[task] for task in tasks if task in by_name]
        if not present:
            continue
        counts = {task: len(by_name[task].source.rows) if task in by_name else 0 for task in tasks}
        expected = {task: LEVAL_TASKS[task].expected for task in tasks}
        whole = {scores.task.name for scores in present if scores.complete}
        missing = tuple(f"{task} {counts[task]} of {expected[task]}" for task in tasks if task not in whole)
        means = [scores.means.get(metric or main_metric(scores.task), {}) for scores in present]
        shares = {
            rule: Share(None) if missing else weighted_mean([mean[rule].score for mean in means]) for rule in RULES
        }
        rows.append(TaskAverage(name, len(tasks), shares, sum(counts.values()), sum(expected.values()), missing))
    return rows


def table_lines(model: str, tasks: Sequence[TaskScores]) -> Iterator[str]:
    """Lines for the terminal: a model's table with its averages, and what was wrong with its files.

    Scores in percent. Where both rules have the same floor, ceiling or interval it is there once, else as
    `compat / strict`. A metric that one rule does not have (ROUGE-Lsum of Chinese or Japanese words) has none there.
    """
    means = averages(tasks)
    yield one_line(f"L-Eval, {model}")
    rows = [_HEAD, *(row for task in tasks for row in _task_rows(task))]
    for average in means:
        values = map(percent2, (average.scores[rule].value for rule in RULES))
        intervals = _both(map(interval_cell, average.scores.values()))
        rows.append((average.name, "mean", *values, NONE, NONE, f"{average.n} of {average.expected}", intervals))
    yield from folded_table(rows, 2)
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


def _task_rows(scored: TaskScores) -> Iterator[tuple[str, ...]]:
    name = scored.task.name
    if not scored.means:
        yield name, *[NONE] * 5, f"{len(scored.source.rows)} of {scored.task.expected}", NONE
    for metric, means in scored.means.items():
        values = list(means.values())
        yield (
            name,
            metric,
            *(percent2(means[rule].score.value) if rule in means else NONE for rule in RULES),
            _both(percent2(mean.floor) for mean in values),
            _both(percent2(mean.ceiling) for mean in values),
            f"{values[0].n} of {values[0].expected}",
            _both(interval_cell(mean.score) for mean in values),
        )


def _both(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(texts))


def _notes(scored: TaskScores) -> Iterator[str]:
    task, source = scored.task, scored.source
    if task.is_own:
        scorer = scored.scorers["strict"]
        yield f"a file of yours, scored as its rows say ({scorer}); whether any are missing is not known"
    if not scored.complete:
        yield f"{len(source.rows)} of {task.expected} questions have a score; no number from other than all of them"
    if source.broken:
        yield f"broken rows, {broken_rows(source.broken)}"
    if scored.without_fact:
        yield f"answers without [fact: ...], {scored.without_fact}: that part of them is wrong"
    if source.for_judges:
        yield f"{source.for_judges} rows are for judges, and not scored here"
    if scored.means and not scored.clustered:
        yield "which questions share a document is not known; its interval takes each by itself"


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


def _average_object(average: TaskAverage) -> dict[str, Any]:
    fields = asdict(average)
    return fields | {rule: _share_object(share) for rule, share in fields.pop("scores").items()}


def _task_object(scored: TaskScores) -> dict[str, Any]:
    return {
        "task": scored.task.name,
        "file": str(scored.source.path),
        "scorers": dict(scored.scorers),
        "n": len(scored.source.rows),
        "expected": scored.task.expected,
        "complete": scored.complete,
        "clustered_by_document": scored.clustered,
        "broken": scored.source.broken,
        "without_fact": scored.without_fact,
        "for_judges": scored.source.for_judges,
        "metrics": {
            metric: {
                rule: _share_object(mean.score, floor=mean.floor, ceiling=mean.ceiling) | {"n": mean.n}
                for rule, mean in by_rule.items()
            }
            for metric, by_rule in scored.means.items()
        },
        "items": [
            {"line": row.line, **{rule: _score_object(scored.scores[rule][index]) for rule in RULES}}
            for index, row in enumerate(scored.source.rows)
        ],
    }


def _score_object(score: Score) -> dict[str, Any]:
    facts = {"score": score.value, "verdict": score.verdict, "taken": score.answer, "why": score.why}
    return facts | {"details": dict(score.details)}


def _share_object(share: Share, **more: float) -> dict[str, float | None]:
    values = {"score": share.value, "low": share.low, "high": share.high, **more}
    return {name: None if value is None else round(100 * value, 4) for name, value in values.items()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    files = "TASK.pred.jsonl files, or folders of them"
    parser.add_argument("predictions", nargs="+", type=Path, metavar="PREDICTIONS", help=files)
    parser.add_argument("--task", help="the task of the one file given, whatever it is called")
    parser.add_argument("--model", help="whose answers to score, where a file has those of several models")
    parser.add_argument("--out", type=Path, help="JSON file to write, with the scores of every item")


def run(options: argparse.Namespace) -> None:
    """Write the scores of the files to `--out`, and print them. Raises `InputError`."""
    tasks, unscored = find_files(options.predictions, options.task)
    sources: dict[tuple[str, str], tuple[LevalTask, Answers]] = {}
    for path, task in tasks.items():
        source = read_answers(path, options.model, task=task)
        _, first = sources.setdefault((source.model, task.name), (task, source))
        if first is not source:
            remedy = f"{source.model} has {task.name} in {first.path} too: give one of them"
            raise InputError("PREDICTIONS", path, remedy)
    scored = score_tasks(sources.values())
    models = dict(sorted(grouped(scored, lambda scores: scores.source.model).items()))
    if options.out is not None:
        write_whole(options.out, json_bytes(report_object(models)))
    for model, rows in models.items():
        print(*table_lines(model, rows), sep="\n")
    print(*legend(scored), sep="\n")
    for path in unscored:
        print(one_line(f"passed over: {path} (its name is no task's)"))
    if options.out is not None:
        print(f"written to {options.out}")
