"""Predictions that were made without needlework: reading them, and what each is scored with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.data_set import DataSetLayout, RowSummary
from needlework.haystack_fixtures.tasks.published import data_sets, mrcr_sets
from needlework.haystack_fixtures.tasks.published.data_sets import LETTERS
from needlework.haystack_fixtures.tasks.published.mrcr_sets import MrcrPieces, mrcr_reference
from needlework.results.leval.predictions import json_rows
from needlework.results.statistics.suites.data_sets import longbench_groups, mrcr_groups

ARGUMENT = "ANSWERS"
_ROWS, _LOGS = ".jsonl", (".eval", ".json")
_STRING = re.compile(r"\A[A-Za-z0-9]{10}")  # OpenAI MRCR: the random string before an answer
_STRING_V2 = 12  # characters of the string before an answer of MRCR v2
Columns = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One row of a file: a reply, and the columns of its question.

    A row is a JSON object with `prediction` (the reply), and optionally `id` (the row of `--data`: its `_id`, its
    number from 0, or the label of our trial), `error` (why the request failed) and columns of the data set.
    """

    text: str = field(repr=False)
    columns: Columns = field(repr=False)
    id: str = ""
    error: str = ""


def read_answers(path: Path) -> list[AnswerRow]:
    """Read a file, or all files below a folder. Raises `InputError`."""
    if not path.exists():
        raise InputError(ARGUMENT, path, "is no file and no folder")
    kinds = (_ROWS, *_LOGS)
    paths = sorted(file for file in path.rglob("*") if file.suffix in kinds) if path.is_dir() else [path]
    answers = [row for file in paths for row in (_read_rows(file) if file.suffix == _ROWS else _read_log(file))]
    if not answers:
        raise InputError(ARGUMENT, path, "has no answers; give jsonl rows with a prediction, or a log of inspect_ai")
    return answers


def _read_rows(path: Path) -> Iterator[AnswerRow]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # of any size: rows may have their prompts
    except (OSError, ValueError) as error:
        raise InputError(ARGUMENT, path, f"cannot be read ({error})") from None
    for number, row in json_rows(text):
        if row is None or not isinstance(row.get("prediction"), str):
            remedy = 'has no text in \'prediction\'; write {"id": ..., "prediction": "the reply"}'
            raise InputError(ARGUMENT, f"{path}, line {number}", remedy)
        columns = {name: value for name, value in row.items() if name not in ("prediction", "error")}
        row_id = next((str(row[name]) for name in ("_id", "id") if row.get(name) is not None), "")
        yield AnswerRow(row["prediction"], columns, row_id, str(row.get("error") or ""))


def _read_log(path: Path) -> Iterator[AnswerRow]:
    """Read a log by inspect_ai's own reader, which knows all versions of its format."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise InputError(ARGUMENT, path, "a log of inspect_ai needs its reader: pip install inspect-ai") from None
    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 - its reader raises errors of many packages
        raise InputError(ARGUMENT, path, f"cannot be read as a log of inspect_ai ({error})") from None
    yield from map(_answer_of_sample, log.samples or [])


def _answer_of_sample(sample: Any) -> AnswerRow:
    """The answer of an `EvalSample`: its metadata are the columns, with its prompt and target if they have none."""
    columns, prompt = dict(sample.metadata or {}), sample.input
    if not isinstance(prompt, str):
        messages = [{"role": message.role, "content": message.text} for message in prompt]
        prompt = messages[0]["content"] if len(messages) == 1 else json.dumps(messages)
    columns.setdefault("prompt", prompt)
    columns.setdefault("answer_nodes" if isinstance(sample.target, list) else "answer", sample.target)
    error = sample.error.message if sample.error else sample.output.error
    return AnswerRow(sample.output.completion, columns, str(sample.id), error or "")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A data set and its rules."""

    task: str  # its scorer too: the sound rule, with the published ones in its details
    layout: DataSetLayout
    reference: Callable[[Columns], dict[str, Any] | None]  # what an answer is scored with; `None` if not in the columns
    groups: Callable[[Columns], tuple[str, ...]]  # the rows of the table that an answer belongs to


def right_letter(columns: Columns) -> str:
    """The right letter of LongBench v2, A to D; empty if it is not in the columns."""
    answer = columns.get("answer")
    letter = answer.strip() if isinstance(answer, str) else ""
    return letter if len(letter) == 1 and letter in LETTERS else ""


def _openai_reference(columns: Columns) -> dict[str, Any] | None:
    answer = columns.get("answer")
    if not isinstance(answer, str):
        return None
    string = columns.get("random_string_to_prepend")
    if not isinstance(string, str):
        match = _STRING.match(answer)
        string = match[0] if match else ""
    row = {**columns, "random_string_to_prepend": string, "desired_msg_index": columns.get("desired_msg_index")}
    try:
        return mrcr_sets.openai_mrcr_reference(str(columns["prompt"]), RowSummary(0, 0, row))
    except (KeyError, InputError):  # without the conversation its other pieces are unknown
        reference = mrcr_reference(answer, string, MrcrPieces((answer.removeprefix(string),), 0))
        needles = columns.get("n_needles")
        return reference | {"chance": 1 / needles if isinstance(needles, int) and needles else 0.0}


def _openai_groups(columns: Columns) -> tuple[str, ...]:
    tokens, needles = columns.get("total_tok_cnt"), columns.get("n_needles")
    return mrcr_groups(needles, tokens if isinstance(tokens, int) else None) if needles else ()


def _deepmind_reference(columns: Columns) -> dict[str, Any] | None:
    answer = columns.get("answer")
    if not isinstance(answer, str):
        return None
    if isinstance(columns.get("queries"), str):
        return mrcr_sets.deepmind_mrcr_reference(columns["queries"], RowSummary(0, 0, columns))
    answer = answer.strip()
    return mrcr_reference(answer, answer[:_STRING_V2], MrcrPieces((answer[_STRING_V2:].strip(),), 0)) | {"chance": 0.0}


def _graphwalks_reference(columns: Columns) -> dict[str, Any] | None:
    try:
        return {"parts": data_sets.graph_nodes(RowSummary(0, 0, columns))}
    except InputError:
        return None


def _longbench_reference(columns: Columns) -> dict[str, Any] | None:
    letter = right_letter(columns)
    return {"answers": (letter,), "chance": 1 / len(LETTERS)} if letter else None


BENCHMARKS: dict[str, tuple[Benchmark, ...]] = {
    "mrcr": (
        Benchmark("openai_mrcr", mrcr_sets.OPENAI_MRCR_LAYOUT, _openai_reference, _openai_groups),
        Benchmark("deepmind_mrcr", mrcr_sets.DEEPMIND_MRCR_LAYOUT, _deepmind_reference, lambda _columns: ()),
    ),
    "graphwalks": (
        Benchmark(
            "graphwalks",
            data_sets.GRAPHWALKS_LAYOUT,
            _graphwalks_reference,
            lambda columns: tuple(filter(None, [str(columns.get("problem_type") or "")])),
        ),
    ),
    "longbench-v2": (
        Benchmark(
            "longbench_v2",
            data_sets.LONGBENCH_V2_LAYOUT,
            _longbench_reference,
            lambda columns: longbench_groups(data_sets.longbench_groups(columns)),
        ),
    ),
}


def benchmark_of(name: str, answers: list[AnswerRow]) -> Benchmark:
    """The benchmark of a command; of the two MRCRs the one whose columns the answers have."""
    return BENCHMARKS[name][-1 if name == "mrcr" and "queries" in answers[0].columns else 0]
