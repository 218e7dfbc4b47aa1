"""The scores of one task: each item by both rules, their means with interval, floor and ceiling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal

from needlework.results.leval.predictions import Prediction, Predictions
from needlework.results.statistics.agreement.rates import share
from needlework.results.statistics.tasks import Share
from needlework.scoring.leval.blind import blind_answers
from needlework.scoring.leval.rouge import PUBLISHED, SUMMARY, geometric_mean, of_itself
from needlework.scoring.leval.tasks import Task
from needlework.scoring.leval.topics import ORDINALS, asked_for
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
class Item:
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
    items: tuple[Item, ...]
    scorers: Mapping[Rule, str]
    means: Mapping[str, Mapping[Rule, Mean]]
    clustered: bool

    @property
    def task(self) -> Task:
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
    """Score every row by both rules. Raises `needlework.scoring.leval.words.MissingPackageError`."""
    scorers = _scorers(source.task)
    references = _references(source)
    answers = [row.answer for row in source.rows]
    scores = {rule: _judged(scorers[rule], answers, references) for rule in RULES}
    items = tuple(Item(row, {rule: scores[rule][at] for rule in RULES}) for at, row in enumerate(source.rows))
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


def main_metric(task: Task) -> str:
    """The metric that stands for a task of exams, or of F1."""
    if _of_topics(task) or task.rule == "leval_sci_fi":
        return "mean"
    return {"exam": "exact_match", "f1": "f1", "rouge": "rougeL"}[task.evaluation]


def _scorers(task: Task) -> dict[Rule, Scorer]:
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


def _ordinal(task: Task, row: Prediction, at: int, rule: Rule) -> str:
    """Which topic was asked for. Upstream counts rows; the question says it, whatever rows are missing."""
    counted = ORDINALS[at % len(ORDINALS)]
    if not _of_topics(task) or rule == "compat":
        return counted
    return asked_for(row.question) or counted


def _values(task: Task, score: Score, ordinal: str) -> Values:
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


def _of_topics(task: Task) -> bool:
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
