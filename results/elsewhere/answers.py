"""Reads predictions that were made without needlework: rows of JSONL, and logs of inspect_ai.

A row is a JSON object. Its fields:

* `prediction`: the reply, a text. Required.
* `id`: the row of `--data`: its `_id`, its number from 0, or the label of our trial.
* `error`: why the request failed, where it did. Such a row is in no mean.
* all others: columns of the data set, such as `answer` or `prompt`. Without `--data` they tell what is right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

ARGUMENT = "ANSWERS"
PREDICTION = "prediction"
_ROWS = ".jsonl"
_LOGS = (".eval", ".json")


@dataclass(frozen=True, slots=True)
class Answer:
    """A prediction, and the columns of its question.

    `key`: the row's id in the data set. `failed`: the request's error; such a prediction is not scored.
    """

    text: str = field(repr=False)
    columns: Mapping[str, Any] = field(repr=False)
    key: str = ""
    failed: str = ""


def read_answers(path: Path) -> list[Answer]:
    """Read a file, or all files below a folder. Raises `InputError`."""
    if not path.exists():
        raise InputError(ARGUMENT, path, "is no file and no folder")
    kinds = (_ROWS, *_LOGS)
    paths = sorted(each for each in path.rglob("*") if each.suffix in kinds) if path.is_dir() else [path]
    answers = [answer for each in paths for answer in (_read_rows(each) if each.suffix == _ROWS else _read_log(each))]
    if not answers:
        raise InputError(ARGUMENT, path, "has no answers; give jsonl rows with a prediction, or a log of inspect_ai")
    return answers


def _read_rows(path: Path) -> Iterator[Answer]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        rows = {number: json.loads(line) for number, line in enumerate(lines, start=1) if line.strip()}
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(ARGUMENT, path, f"cannot be read ({error})") from None
    for number, row in rows.items():
        if not isinstance(row, dict) or not isinstance(row.get(PREDICTION), str):
            remedy = f'has no text in {PREDICTION!r}; write {{"id": ..., "{PREDICTION}": "the reply"}}'
            raise InputError(ARGUMENT, f"{path}, line {number}", remedy)
        columns = {name: value for name, value in row.items() if name not in (PREDICTION, "error")}
        key = next((str(row[name]) for name in ("_id", "id") if row.get(name) is not None), "")
        yield Answer(row[PREDICTION], columns, key, str(row.get("error") or ""))


def _read_log(path: Path) -> Iterator[Answer]:
    """Read a log by inspect_ai's own reader, which knows all versions of its format."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise InputError(ARGUMENT, path, "a log of inspect_ai needs its reader: pip install inspect-ai") from None
    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 - its reader raises errors of many packages
        raise InputError(ARGUMENT, path, f"cannot be read as a log of inspect_ai ({error})") from None
    yield from map(_from_sample, log.samples or [])


def _from_sample(sample: Any) -> Answer:
    """The answer of an `EvalSample`: its metadata are the columns, with its prompt and target where they have none."""
    columns = dict(sample.metadata or {})
    if isinstance(sample.input, str):
        columns.setdefault("prompt", sample.input)
    else:
        messages = [{"role": message.role, "content": message.text} for message in sample.input]
        columns.setdefault("prompt", messages[0]["content"] if len(messages) == 1 else json.dumps(messages))
    columns.setdefault("answer_nodes" if isinstance(sample.target, list) else "answer", sample.target)
    failed = sample.error.message if sample.error else sample.output.error
    return Answer(sample.output.completion, columns, str(sample.id), failed or "")
