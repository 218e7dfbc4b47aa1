"""`needlework score leval PREDICTIONS...`: L-Eval's prediction files by both rules, without a model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.leval.averages import averages
from needlework.results.leval.predictions import Predictions, find_files, read_predictions
from needlework.results.leval.report import lines, report_object
from needlework.results.leval.task_scores import TaskScores, score_task
from needlework.scoring.leval.tasks import TASKS
from needlework.scoring.leval.words import MissingPackageError

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
