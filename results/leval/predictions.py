"""L-Eval's prediction files: `TASK.pred.jsonl`, rows with `query`, `gt` and `MODEL_pred`."""

import json
from collections.abc import Iterator, Sequence
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
    """A model's answers in one file. `for_judges`: how many rows are left out, as no rule scores them."""

    path: Path
    model: str
    rows: tuple[Prediction, ...]
    broken: tuple[BrokenRow, ...]
    for_judges: int = 0


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
        raise InputError(_ARGUMENT, paths[0], f"holds no TASK{SUFFIX}: give files of predictions ({_EXPORT})")
    return tasks, unscored


def read_answers(
    path: Path, model: str | None = None, names: tuple[str, str] = _NAMES, task: LevalTask | None = None
) -> Answers:
    """Read the rows of one file that a task's rule scores; without a task all, for a judge. Raises `InputError`.

    `names`: the argument of the file, and the option for one of several models in it.
    """
    lines = _lines(path, names[0])
    kinds = {str(row.get("evaluation")) for _, row in lines if row} - set(BY_JUDGES)
    if task and kinds and task.evaluation not in kinds:
        remedy = f"its rows are for {', '.join(sorted(kinds))}, those of {task.name} for {task.evaluation}"
        raise InputError(names[0], path, f"{remedy}: give the right --task")
    key = _key(lines, path, model, names)
    scored = [(line, row) for line, row in lines if not (task and row and row.get("evaluation") in BY_JUDGES)]
    problems = {line: _problem(row, key, task) for line, row in scored}
    rows = tuple(_prediction(line, row, key, task) for line, row in scored if row and not problems[line])
    broken = tuple(BrokenRow(line, problem) for line, problem in problems.items() if problem)
    return Answers(path, key.removesuffix(_KEY), rows, broken, len(lines) - len(scored))


def _problem(row: dict[str, Any] | None, key: str, task: LevalTask | None) -> str:
    """Why a row cannot be scored; empty where it can."""
    if row is None:
        return "is not a JSON object"
    if task and row.get("evaluation") != task.evaluation:
        return f"has evaluation {row.get('evaluation')!r}, not {task.evaluation!r}"
    missing = [name for name in ("gt", key, *(() if task else ("query",))) if not isinstance(row.get(name), str)]
    return f"has no text under {' and '.join(missing)}" if missing else ""


def _prediction(line: int, row: dict[str, Any], key: str, task: LevalTask | None) -> Prediction:
    question, document = row.get("query"), row.get("document")
    number = document if task and task.is_own and type(document) is int else None
    return Prediction(line, question if isinstance(question, str) else "", row["gt"], row[key], number)


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
