"""The rows of a jsonl file of L-Eval's form, and what is wrong with one, in a line that names file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

OPTION = "--leval-data"
SCORED = ("exam", "f1", "rouge")
_EVALUATIONS = (*SCORED, "LLM", "human")


@dataclass(frozen=True, slots=True)
class Row:
    """A document with its questions and the answer of each. `evaluation`: what its answers are for."""

    text: str
    evaluation: str
    pairs: tuple[tuple[str, str], ...]


def rows(path: Path, data: bytes) -> Iterator[tuple[int, Row]]:
    """The rows of a file's bytes with their line numbers, from 1. Raises `InputError`."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, _row(_object(line))
        except (ValueError, RecursionError) as error:
            raise InputError(OPTION, f"{path}:{number}", str(error)) from None


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except UnicodeDecodeError as error:
        raise ValueError(f"is no UTF-8 ({error.reason}): save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON ({error.msg}, character {error.colno}): write each row on one line") from None
    if not isinstance(row, dict):
        raise ValueError("is no JSON object with input, instructions, outputs and evaluation")
    return row


def _row(row: dict[str, Any]) -> Row:
    for key in ("input", "instructions", "outputs"):
        if key not in row:
            raise ValueError(f"has no `{key}`: a row has input (the document), instructions, outputs and evaluation")
    if "evaluation" not in row:
        raise ValueError(f'has no `evaluation`: add one of {", ".join(_EVALUATIONS)}, such as "evaluation": "f1"')
    text, evaluation = row["input"], row["evaluation"]
    if evaluation not in _EVALUATIONS:
        near = get_close_matches(str(evaluation).lower(), [each.lower() for each in _EVALUATIONS], n=1)
        hint = f"; did you mean {next(each for each in _EVALUATIONS if each.lower() == near[0])}?" if near else ""
        raise ValueError(f"evaluation {evaluation!r:.40} is none of {', '.join(_EVALUATIONS)}{hint}")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("its document (`input`) is empty, or no text")
    for key in ("instructions", "outputs"):
        if not isinstance(row[key], list) or not all(isinstance(each, str) for each in row[key]):
            raise ValueError(f"`{key}` is no list of texts")
    questions, answers = row["instructions"], row["outputs"]
    if len(questions) != len(answers):
        raise ValueError(f"has {len(questions)} instructions and {len(answers)} outputs: give each question its answer")
    blank = next((at for at, each in enumerate(answers, 1) if not each.strip()), None)
    if blank:
        raise ValueError(f"answer {blank} of `outputs` is blank: write it, or leave the question out")
    return Row(text, evaluation, tuple(zip(questions, answers, strict=True)))
