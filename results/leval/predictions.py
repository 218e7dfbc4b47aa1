"""L-Eval's prediction files: `TASK.pred.jsonl`, rows with `query`, `gt` and `MODEL_pred`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.files import read_text
from needlework.haystack_fixtures.tasks.published.leval import own_rule
from needlework.haystack_fixtures.tasks.published.leval_files import BY_JUDGES, LEVAL_TASKS, SCORED, LevalTask
from needlework.results.style import first_few

SUFFIX = ".pred.jsonl"
_KEY = "_pred"
_SHOWN_KEYS = 6
_ARGUMENT = "PREDICTIONS"
_NAMES = (_ARGUMENT, "--model")  # of the file, and of one of several models in it
_EXPORT = "of a run: needlework leval-export RUN writes them"
JsonLine = tuple[int, dict[str, Any] | None]  # its number from 1, and the row; none where it is no JSON object


class Prediction(Struct, frozen=True):
    """One row of a prediction file."""

    line: int  # in the file, from 1
    question: str
    gold: str
    answer: str
    document: int | None = None  # the number of its document, where the row has it

    @property
    def pair_key(self) -> tuple[str, str]:
        """Question and reference, by which rows of two files are paired."""
        return self.question, self.gold


class BrokenRow(Struct, frozen=True):
    """A row that cannot be scored, and why."""

    line: int
    why: str


class Answers(Struct, frozen=True):
    """A model's answers in one file."""

    path: Path
    model: str
    rows: tuple[Prediction, ...]
    broken: tuple[BrokenRow, ...]


class Predictions(Answers, frozen=True):
    """A model's answers to a task. `for_judges`: rows of the same file that no rule scores."""

    task: LevalTask
    for_judges: int


def find_files(paths: Sequence[Path], task: str | None) -> tuple[dict[Path, LevalTask], list[Path]]:
    """Prediction files with their tasks, and files without rows for a rule. Raises `InputError`.

    `paths`: files, and folders to search. The name of the file is the task, never that of a folder; `task` names that
    of one other file. A name that is not L-Eval's is a task of one's own, scored as its rows say.
    """
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise InputError(_ARGUMENT, missing, "there is no such file or folder")
    if task is not None:
        if len(paths) != 1 or paths[0].is_dir():
            raise InputError("--task", task, "goes with one prediction file")
        if task not in LEVAL_TASKS:
            raise InputError("--task", task, f"use one of {', '.join(LEVAL_TASKS)}")
        return {paths[0]: LEVAL_TASKS[task]}, []
    tasks: dict[Path, LevalTask] = {}
    unscored = []
    for path in paths:
        for file in sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]:
            if known := _task_of(file):
                tasks[file] = known
            elif path.is_dir():
                unscored.append(file)
            else:
                remedy = f"is not called TASK{SUFFIX}, with rows for {', '.join(SCORED)}: rename it, or give --task"
                raise InputError(_ARGUMENT, path, remedy)
    if not tasks:
        raise InputError(_ARGUMENT, paths[0], f"no TASK{SUFFIX} in it: give a folder or file that has ({_EXPORT})")
    return tasks, unscored


def read_predictions(path: Path, task: LevalTask, model: str | None = None) -> Predictions:
    """Read one file of a task. Raises `InputError` for a file of another task, or of several models."""
    lines = _lines(path, _ARGUMENT)
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
        number = document if task.is_own and type(document) is int else None
        return Prediction(line, question if isinstance(question, str) else "", row["gt"], row[key], number)

    scored = [(line, row) for line, row in lines if not row or row.get("evaluation") not in BY_JUDGES]
    key = _key(lines, path, model, _NAMES)
    return Predictions(path, key.removesuffix(_KEY), *_read(scored, key, read), task, len(lines) - len(scored))


def read_answers(path: Path, model: str | None, names: tuple[str, str] = _NAMES) -> Answers:
    """Read every row of one file, of whatever task, for a judge. Raises `InputError`.

    `names`: the argument of the file, and the option for one of several models in it.
    """

    def read(line: int, row: Mapping[str, Any], key: str) -> Prediction:
        _check_texts(row, "query", "gt", key)
        return Prediction(line, row["query"], row["gt"], row[key])

    lines = _lines(path, names[0])
    key = _key(lines, path, model, names)
    return Answers(path, key.removesuffix(_KEY), *_read(lines, key, read))


def broken_rows(rows: Sequence[BrokenRow]) -> str:
    """Count broken rows, and name the first reasons: `4: line 2: is empty; ... and 1 more`."""
    return f"{len(rows)}: {first_few([f'line {row.line}: {row.why}' for row in rows], separator='; ')}"


def _task_of(path: Path) -> LevalTask | None:
    """The task of a file's name; for another name that of its rows, none without a row for a rule."""
    name = path.name.removesuffix(SUFFIX)
    if not path.name.endswith(SUFFIX) or name in LEVAL_TASKS:
        return LEVAL_TASKS.get(name) if path.name.endswith(SUFFIX) else None
    rows = [row or {} for _, row in _lines(path, "")]
    evaluation = next((str(row["evaluation"]) for row in rows if row.get("evaluation") in SCORED), None)
    if evaluation is None:
        return None
    golds = [str(row.get("gt")) for row in rows if row.get("evaluation") == evaluation]
    expected = sum(row.get("evaluation") not in BY_JUDGES for row in rows)
    return LevalTask(name, "", own_rule(evaluation, golds), expected=expected, is_own=True)


def json_rows(text: str) -> Iterator[JsonLine]:
    """The lines of a JSON Lines text that are not blank. Only a line feed ends one."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            yield number, row if isinstance(row, dict) else None


def _lines(path: Path, argument: str) -> list[JsonLine]:
    """The lines of a file. Raises `InputError`, with an `argument` also for a file without rows."""
    lines = list(json_rows(read_text(argument or _ARGUMENT, path, f"give a prediction file ({_EXPORT})")))
    if argument and not lines:
        raise InputError(argument, path, "is empty: give a file with answers")
    if argument and not any(row for _, row in lines):
        raise InputError(argument, path, "no line of it is a JSON object: give JSON Lines, one row on each")
    return lines


def _read(
    lines: Sequence[JsonLine], key: str, read: Callable[[int, Mapping[str, Any], str], Prediction]
) -> tuple[tuple[Prediction, ...], tuple[BrokenRow, ...]]:
    """The rows, and those for which `read` raises a `ValueError`."""
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


def _key(lines: Sequence[JsonLine], path: Path, model: str | None, names: tuple[str, str]) -> str:
    """The key of a model's answers. Raises `InputError` without one, and for several without a `model`."""
    argument, option = names
    keys = list(dict.fromkeys(key for _, row in lines for key in row or () if key.endswith(_KEY)))
    models = ", ".join(key.removesuffix(_KEY) for key in keys[:_SHOWN_KEYS])
    if not keys:
        raise InputError(argument, path, f"no row has a key MODEL{_KEY}: is it a prediction file?")
    if model is not None and f"{model}{_KEY}" not in keys:
        raise InputError(option, model, f"{path} has answers of {models}")
    if model is None and len(keys) > 1:
        raise InputError(argument, path, f"has answers of several models: give {option}, one of {models}")
    return keys[0] if model is None else f"{model}{_KEY}"
