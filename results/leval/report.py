"""The scores of L-Eval's tasks as a table for terminals and as a JSON object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from needlework.results.leval.averages import Average
from needlework.results.leval.task_scores import RULES, Mean, Rule, TaskScores
from needlework.results.statistics.tasks import Share
from needlework.results.style.text import one_line
from needlework.results.tables.columns import NONE, aligned, ends, percent2

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
