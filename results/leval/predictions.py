"""L-Eval's prediction files: `TASK.pred.jsonl`, a row for each question with `query`, `gt` and `MODEL_pred`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.files import read_text, write_whole
from needlework.haystack_fixtures.tasks.published.leval import own_rule
from needlework.haystack_fixtures.tasks.published.leval_files import SCORED
from needlework.scoring.leval.tasks import BY_JUDGES, TASKS, LevalTask, own_task

SUFFIX = ".pred.jsonl"
_KEY = "_pred"
_SHOWN_KEYS = 6
_ARGUMENT = "PREDICTIONS"
_NAMES = (_ARGUMENT, "--model")  # of the file, and of one of several models in it
_EXPORT = "of a run: needlework leval-export RUN writes them"


@dataclass(frozen=True, slots=True)
class Prediction:
    """One row: its line in the file, from 1. `document`: the number of its document, where the row says it."""

    line: int
    question: str
    gold: str
    answer: str
    document: int | None = None


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """A row that cannot be scored, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's answers in one file."""

    path: Path
    model: str
    rows: tuple[Prediction, ...]
    broken: tuple[BrokenRow, ...]


@dataclass(frozen=True, slots=True)
class Predictions(Answers):
    """A model's answers to a task. `for_judges`: rows of the same file that no rule scores."""

    task: LevalTask
    for_judges: int


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
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise InputError(_ARGUMENT, missing, "there is no such file or folder")
    if task is not None:
        if len(paths) != 1 or paths[0].is_dir():
            raise InputError("--task", task, "goes with one prediction file")
        if task not in TASKS:
            raise InputError("--task", task, f"use one of {', '.join(TASKS)}")
        return PredictionFiles(((paths[0], TASKS[task]),), ())
    files: list[tuple[Path, LevalTask]] = []
    passed_over: list[Path] = []
    for path in paths:
        for each in sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]:
            known = _task_of(each)
            if known:
                files.append((each, known))
            elif path.is_dir():
                passed_over.append(each)
            else:
                remedy = f"is not called TASK{SUFFIX}, with rows for {', '.join(SCORED)}: rename it, or give --task"
                raise InputError(_ARGUMENT, path, remedy)
    if not files:
        raise InputError(_ARGUMENT, paths[0], f"no TASK{SUFFIX} in it: give a folder or file that has ({_EXPORT})")
    return PredictionFiles(tuple(files), tuple(passed_over))


def read_predictions(path: Path, task: LevalTask, model: str | None = None) -> Predictions:
    """Read one file of a task. Raises `InputError` where it is none of this task, or of one model."""
    lines = _read(path, _ARGUMENT)
    kinds = {str(row.get("evaluation")) for _, row in lines if row} - set(BY_JUDGES)
    if kinds and task.evaluation not in kinds:
        named = ", ".join(sorted(kinds))
        remedy = f"its rows are for {named}, those of {task.name} for {task.evaluation}: give the right --task"
        raise InputError(_ARGUMENT, path, remedy)

    def read(line: int, row: Mapping[str, Any], key: str) -> Prediction:
        if row.get("evaluation") != task.evaluation:
            raise ValueError(f"has evaluation {row.get('evaluation')!r}, not {task.evaluation!r}")
        _check_texts(row, "gt", key)
        question, document = row.get("query"), row.get("document")
        number = document if task.own and type(document) is int else None
        return Prediction(line, question if isinstance(question, str) else "", row["gt"], row[key], number)

    scored = [(line, row) for line, row in lines if not row or row.get("evaluation") not in BY_JUDGES]
    key = _key(lines, path, model, _NAMES)
    rows, broken = _split(scored, key, read)
    return Predictions(path, key.removesuffix(_KEY), rows, broken, task, len(lines) - len(scored))


def read_answers(path: Path, model: str | None, names: tuple[str, str] = _NAMES) -> Answers:
    """Read every row of one file, of whatever task, for a judge. Raises `InputError`.

    `names`: the argument that named the file, and the option for one of several models in it.
    """

    def read(line: int, row: Mapping[str, Any], key: str) -> Prediction:
        _check_texts(row, "query", "gt", key)
        return Prediction(line, row["query"], row["gt"], row[key])

    lines = _read(path, names[0])
    key = _key(lines, path, model, names)
    return Answers(path, key.removesuffix(_KEY), *_split(lines, key, read))


def write_object(path: Path, content: dict[str, Any]) -> None:
    """Write the JSON file of `--out`. Raises `InputError`."""
    try:
        write_whole(path, f"{json.dumps(content, indent=1, allow_nan=False)}\n".encode())
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or error
        raise InputError("--out", path, f"cannot be written ({problem})") from None


_Line = tuple[int, dict[str, Any] | None]  # its number, and the row; none where it is no JSON object


def _split(
    lines: Sequence[_Line], key: str, read: Callable[[int, Mapping[str, Any], str], Prediction]
) -> tuple[tuple[Prediction, ...], tuple[BrokenRow, ...]]:
    """Rows that can be read, and those of which `read` says by a `ValueError` why they cannot."""
    rows, broken = [], []
    for line, row in lines:
        try:
            if row is None:
                raise ValueError("is not a JSON object")
            rows.append(read(line, row, key))
        except ValueError as error:
            broken.append(BrokenRow(line, str(error)))
    return tuple(rows), tuple(broken)


def _check_texts(row: Mapping[str, Any], *names: str) -> None:
    missing = [name for name in names if not isinstance(row.get(name), str)]
    if missing:
        raise ValueError(f"has no text under {' and '.join(missing)}")


def _task_of(path: Path) -> LevalTask | None:
    """The task that a file is called after; of another name that of its rows, none where no row is for a rule."""
    name = path.name.removesuffix(SUFFIX)
    if not path.name.endswith(SUFFIX) or name in TASKS:
        return TASKS.get(name) if path.name.endswith(SUFFIX) else None
    rows = [row for _, row in _lines(path, _ARGUMENT)]
    kinds = [row.get("evaluation") if row else None for row in rows]
    evaluation = next((str(kind) for kind in kinds if kind in SCORED), None)
    if evaluation is None:
        return None
    golds = [str(row.get("gt")) for row in rows if row and row.get("evaluation") == evaluation]
    return own_task(name, evaluation, own_rule(evaluation, golds), sum(kind not in BY_JUDGES for kind in kinds))


def _read(path: Path, argument: str) -> list[_Line]:
    lines = list(_lines(path, argument))
    if not lines:
        raise InputError(argument, path, "is empty: give a file with answers")
    if not any(row for _, row in lines):
        raise InputError(argument, path, "no line of it is a JSON object: give JSON Lines, one row on each")
    return lines


def _lines(path: Path, argument: str) -> Iterator[_Line]:
    """The lines that are not blank. Only a line feed ends a line of JSON."""
    for number, line in enumerate(read_text(argument, path, f"give a prediction file ({_EXPORT})").split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            yield number, row if isinstance(row, dict) else None


def _key(lines: Sequence[_Line], path: Path, model: str | None, names: tuple[str, str]) -> str:
    argument, option = names
    keys = list(dict.fromkeys(key for _, row in lines for key in row or () if key.endswith(_KEY)))
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
