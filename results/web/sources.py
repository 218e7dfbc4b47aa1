"""What the paths of `needlework serve` are: runs, prediction files, documents to annotate, questions to review.

Nothing outside these paths is ever read for a page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

STATE = "people.sqlite"
PREDICTIONS = ".pred.jsonl"
REFERENCES = ".ref.jsonl"
_KINDS = ("runs", "predictions", "annotated", "questions", "references")
_OF_A_RUN = ("journal.jsonl", "results.json")


@dataclass(frozen=True, slots=True)
class Sources:
    """`runs`: folders. `predictions`, `annotated` (jsonl of documents), `questions`: files. All resolved and there.

    `references`: L-Eval's files of references that lie in a folder of predictions: models and documents more to rate.
    `documents`: the folder that the questions are about. `rate_questions`: how many are rated, all where it is none;
    `rate_contexts`: in how many contexts each question of a run is.
    """

    runs: tuple[Path, ...] = ()
    predictions: tuple[Path, ...] = ()
    annotated: tuple[Path, ...] = ()
    questions: tuple[Path, ...] = ()
    documents: Path | None = None
    references: tuple[Path, ...] = ()
    rate_questions: int | None = None
    rate_contexts: int = 1


def find_sources(paths: Sequence[Path], documents: Path | None) -> Sources:
    """Tell the paths apart by what they hold. Raises `InputError` for a path that no page can show."""
    found: dict[str, list[Path]] = {name: [] for name in _KINDS}
    for path in paths:
        try:
            for kind, each in _kinds(path):
                if each.resolve() not in found[kind]:
                    found[kind].append(each.resolve())
        except OSError as error:
            raise InputError("PATH", error.filename or path, f"cannot be read ({error.strerror})") from None
    if documents is not None and not os.path.isdir(documents):  # noqa: PTH112 - no error where it may not be looked at
        raise InputError("--documents", documents, "is no folder; name the one that the questions are about")
    references = [each for each in found.pop("references") if each not in found["annotated"]]
    runs, predictions, annotated, questions = (tuple(each) for each in found.values())
    folder = documents and documents.resolve()
    return Sources(runs, predictions, annotated, questions, folder, references=tuple(references))


def bytes_of(runs: Sequence[Path]) -> int:
    """How many bytes of records so many runs have: of each, its larger file of them."""
    files = [[run / name for name in _OF_A_RUN] for run in runs]
    return sum(max((file.stat().st_size for file in each if file.is_file()), default=0) for each in files)


def state_place(first: Path) -> Path:
    """Where what people say is kept: in the folder that was given first, or beside the file."""
    return (first if first.is_dir() else first.parent) / STATE


def _kinds(path: Path) -> Iterable[tuple[str, Path]]:
    if not path.exists():
        raise InputError("PATH", path, "does not exist; give run folders, prediction files, jsonl documents, questions")
    if path.is_dir():
        return _in_folder(path)
    if path.name.endswith(PREDICTIONS):
        return [("predictions", path)]
    if path.suffix == ".jsonl":
        return [(_kind_of_rows(path), path)]
    if path.suffix == ".json":
        return [("questions", path)]
    raise InputError("PATH", path, "is no run folder, .jsonl or .json file")


def _in_folder(path: Path) -> list[tuple[str, Path]]:
    if any((path / name).is_file() for name in _OF_A_RUN):
        return [("runs", path)]
    runs = [each for each in sorted(path.iterdir()) if any((each / name).is_file() for name in _OF_A_RUN)]
    predictions = sorted(path.rglob(f"*{PREDICTIONS}"))
    if not runs and not predictions:
        raise InputError("PATH", path, f"holds no run and no *{PREDICTIONS}")
    references = sorted(path.rglob(f"*{REFERENCES}")) if predictions else []
    found = {"runs": runs, "predictions": predictions, "references": references}
    return [(kind, each) for kind, paths in found.items() for each in paths]


def _kind_of_rows(path: Path) -> str:
    """Rows of predictions have a key that ends in `_pred`; others are documents."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first: Any = json.loads(next((line for line in file if line.strip()), "null"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("PATH", path, f"is no jsonl file ({error})") from None
    if not isinstance(first, dict):
        raise InputError("PATH", path, "has no rows that are objects")
    return "predictions" if "query" in first and any(key.endswith("_pred") for key in first) else "annotated"
