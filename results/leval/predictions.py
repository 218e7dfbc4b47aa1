"""L-Eval's prediction files: `TASK.pred.jsonl`, a row for each question with `query`, `gt` and `MODEL_pred`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.haystack_fixtures.tasks.published.leval import own_rule
from needlework.haystack_fixtures.tasks.published.leval_files import SCORED
from needlework.scoring.leval.tasks import BY_JUDGES, TASKS, LevalTask, own_task

SUFFIX = ".pred.jsonl"
_KEY = "_pred"
_SHOWN_KEYS = 6


@dataclass(frozen=True, slots=True)
class Prediction:
    """One row: its line in the file, from 1. `document`: the number of its document, where the row says it."""

    line: int
    question: str
    gold: str
    answer: str
    document: int | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that cannot be scored, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Predictions:
    """A model's answers to a task. `for_judges`: rows of the same file that no rule scores."""

    path: Path
    task: LevalTask
    model: str
    rows: tuple[Prediction, ...]
    broken: tuple[Broken, ...]
    for_judges: int


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's answers in one file, whatever their tasks."""

    path: Path
    model: str
    rows: tuple[Prediction, ...]
    broken: tuple[Broken, ...]


@dataclass(frozen=True, slots=True)
class PredictionFiles:
    """Files to read with their tasks, and those in folders that have no rows which a rule scores."""

    files: tuple[tuple[Path, LevalTask], ...]
    passed_over: tuple[Path, ...]


def find_files(paths: Sequence[Path], task: str | None) -> PredictionFiles:
    """Return the prediction files that are given, or lie below a folder that is. Raises `InputError`.

    The task is in the file's own name, never in a folder's; `task` names that of one file called otherwise. A name
    that is none of L-Eval's is that of a task of one's own, scored as its rows say.
    """
    if task is not None:
        if len(paths) != 1 or paths[0].is_dir():
            raise InputError("--task", task, "goes with one prediction file")
        return PredictionFiles(((_there(paths[0]), _named(task)),), ())
    files: list[tuple[Path, LevalTask]] = []
    passed_over: list[Path] = []
    for path in paths:
        if not path.is_dir():
            known = _task_of(_there(path))
            if known is None:
                remedy = f"is not called TASK{SUFFIX}, with rows for {', '.join(SCORED)}: rename it, or give --task"
                raise InputError("PREDICTIONS", path, remedy)
            files.append((path, known))
            continue
        for each in sorted(path.rglob(f"*{SUFFIX}")):
            known = _task_of(each)
            files += [(each, known)] if known else []
            passed_over += [] if known else [each]
    if not files:
        raise InputError(
            "PREDICTIONS",
            paths[0],
            f"no TASK{SUFFIX} in it: give a folder or file that has (of a run: needlework leval-export RUN first)",
        )
    return PredictionFiles(tuple(files), tuple(passed_over))


def read_predictions(path: Path, task: LevalTask, model: str | None = None) -> Predictions:
    """Read one file. Raises `InputError` where it is none of this task, or of one model."""
    lines = _read(path, "PREDICTIONS")
    objects = [(number, row) for number, row in lines if isinstance(row, dict)]
    judged = [row for _, row in objects if row.get("evaluation") in BY_JUDGES]
    kinds = {str(row.get("evaluation")) for _, row in objects} - set(BY_JUDGES)
    if kinds and task.evaluation not in kinds:
        named = ", ".join(sorted(kinds))
        remedy = f"its rows are for {named}, those of {task.name} for {task.evaluation}: give the right --task"
        raise InputError("PREDICTIONS", path, remedy)
    key = _key([row for _, row in objects], path, model)
    rows: list[Prediction] = []
    broken: list[Broken] = []
    for number, row in lines:
        if isinstance(row, dict) and row.get("evaluation") in BY_JUDGES:
            continue
        read = _row(number, row, key, task)
        if isinstance(read, Broken):
            broken.append(read)
        else:
            rows.append(read)
    return Predictions(path, task, key.removesuffix(_KEY), tuple(rows), tuple(broken), len(judged))


def read_answers(path: Path, model: str | None, names: tuple[str, str] = ("PREDICTIONS", "--model")) -> Answers:
    """Read every row of one file, of whatever task, for a judge. Raises `InputError`.

    `names`: the argument that named the file, and the option for one of several models in it.
    """
    lines = _read(path, names[0])
    key = _key([row for _, row in lines if isinstance(row, dict)], path, model, names)
    read = [_judged_row(number, row, key) for number, row in lines]
    rows = tuple(row for row in read if isinstance(row, Prediction))
    return Answers(path, key.removesuffix(_KEY), rows, tuple(row for row in read if isinstance(row, Broken)))


def _text(path: Path, argument: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # no UTF-8; a name that no file can have
        problem = getattr(error, "strerror", None) or error
        raise InputError(argument, path, f"cannot be read ({problem})") from None


def _read(path: Path, argument: str) -> list[tuple[int, object]]:
    lines = list(_lines(_text(path, argument)))
    if not lines:
        raise InputError(argument, path, "is empty: give a file with answers")
    if not any(isinstance(row, dict) for _, row in lines):
        raise InputError(argument, path, "no line of it is a JSON object: give JSON Lines, one row on each")
    return lines


def _there(path: Path) -> Path:
    if not path.is_file():
        raise InputError("PREDICTIONS", path, "there is no such file or folder")
    return path


def _task_of(path: Path) -> LevalTask | None:
    name = path.name.removesuffix(SUFFIX)
    if not path.name.endswith(SUFFIX) or name in TASKS:
        return TASKS.get(name)
    return _own_task(name, [row for _, row in _lines(_text(path, "PREDICTIONS"))])


def _own_task(name: str, rows: Sequence[object]) -> LevalTask | None:
    """The task of a file of one's own; none where no row is for a rule."""
    kinds = [row.get("evaluation") if isinstance(row, dict) else None for row in rows]
    evaluation = next((str(kind) for kind in kinds if kind in SCORED), None)
    if evaluation is None:
        return None
    golds = [str(row.get("gt")) for row in rows if isinstance(row, dict) and row.get("evaluation") == evaluation]
    expected = sum(kind not in BY_JUDGES for kind in kinds)
    return own_task(name, evaluation, own_rule(evaluation, golds), expected)


def _named(task: str) -> LevalTask:
    if task not in TASKS:
        raise InputError("--task", task, f"use one of {', '.join(TASKS)}")
    return TASKS[task]


def _lines(text: str) -> Iterator[tuple[int, object]]:
    """Rows with their line numbers; a line that is no JSON gives `None`. Only a line feed ends a line of JSON."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, None


def _key(
    rows: Sequence[dict[str, Any]],
    path: Path,
    model: str | None,
    names: tuple[str, str] = ("PREDICTIONS", "--model"),
) -> str:
    argument, option = names
    keys = list(dict.fromkeys(key for row in rows for key in row if key.endswith(_KEY)))
    models = ", ".join(key.removesuffix(_KEY) for key in keys[:_SHOWN_KEYS])
    if not keys:
        raise InputError(argument, path, f"no row has a key MODEL{_KEY}: is it a prediction file?")
    if model is not None:
        if f"{model}{_KEY}" not in keys:
            raise InputError(option, model, f"{path} has answers of {models}")
        return f"{model}{_KEY}"
    if len(keys) > 1:
        raise InputError(argument, path, f"has answers of several models: give {option}, one of {models}")
    return keys[0]


def _row(number: int, row: object, key: str, task: LevalTask) -> Prediction | Broken:
    if not isinstance(row, dict):
        return Broken(number, "is not a JSON object")
    if row.get("evaluation") != task.evaluation:
        return Broken(number, f"has evaluation {row.get('evaluation')!r}, not {task.evaluation!r}")
    missing = [name for name in ("gt", key) if not isinstance(row.get(name), str)]
    if missing:
        return Broken(number, f"has no text under {' and '.join(missing)}")
    question, document = row.get("query"), row.get("document")
    number_of = document if task.own and type(document) is int else None
    return Prediction(number, question if isinstance(question, str) else "", row["gt"], row[key], number_of)


def _judged_row(number: int, row: object, key: str) -> Prediction | Broken:
    if not isinstance(row, dict):
        return Broken(number, "is not a JSON object")
    missing = [name for name in ("query", "gt", key) if not isinstance(row.get(name), str)]
    if missing:
        return Broken(number, f"has no text under {' and '.join(missing)}")
    return Prediction(number, row["query"], row["gt"], row[key])
