"""L-Eval's data files: a document with its questions in each row; equal documents are one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tasks.leval.sources import FOLDERS, SOURCES, Source

OPTION = "--leval-data"
_HUB = "hf:"
SCORED = ("exam", "f1", "rouge")
SUBSETS: dict[str, tuple[str, ...]] = {
    "scored": SCORED,
    "llm": ("LLM",),
    "human": ("human",),
    "both": ("LLM", "human"),
}
_EVALUATIONS = (*SCORED, "LLM", "human")


@dataclass(frozen=True, slots=True)
class Item:
    """A question with its reference. `document`: its number among the file's. `evaluation`: its row's."""

    label: str
    document: int
    evaluation: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class DataFile:
    """The different documents of a file, in its order, and all its questions by label (`doc3_q7`)."""

    documents: tuple[str, ...]
    items: dict[str, Item]
    sha256: str

    def of(self, subset: str) -> tuple[Item, ...]:
        """The questions of a subset."""
        return tuple(item for item in self.items.values() if item.evaluation in SUBSETS[subset])


@lru_cache(2)
def data_folder(given: str) -> Path:
    """The folder of `--leval-data`; of `hf:ID` or `hf:ID@REVISION` that of the data set, fetched into the hub's cache.

    Only the jsonl files are fetched: code that a data set carries is never run. Raises `InputError`.
    """
    if not given.startswith(_HUB):
        if not Path(given).is_dir():
            raise InputError(OPTION, given, "is no folder: give your copy of L-Eval's data, or hf:L4NLP/LEval")
        return Path(given)
    from huggingface_hub import snapshot_download

    name, _, revision = given.removeprefix(_HUB).partition("@")
    try:
        found = snapshot_download(name, repo_type="dataset", revision=revision or None, allow_patterns=["*.jsonl"])
    except Exception as error:  # the hub's client and its transport raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError(OPTION, given, f"the hub gave nothing ({why}); give a folder") from error
    return Path(found)


def find_file(folder: str, source: Source) -> Path | None:
    """The file of a task in the user's folder. Raises `InputError`."""
    places = (data_folder(folder) / below / source.file for below in FOLDERS[source.group])
    return next((place for place in places if place.is_file()), None)


def read_file(folder: str, source: Source) -> DataFile:
    """Read a task's file; it stays in memory while it does not change. Raises `InputError`."""
    path = find_file(folder, source)
    if path is None:
        raise InputError(OPTION, folder, f"has no {source.file}")
    stat = path.stat()
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(len(SOURCES))
def _read(path: Path, _changed: int, _size: int) -> DataFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None
    documents: dict[str, int] = {}
    asked: dict[int, int] = {}
    items: dict[str, Item] = {}
    for text, evaluation, pairs in _rows(path, data):
        document = documents.setdefault(text, len(documents))
        for question, answer in pairs:
            number = asked[document] = asked.get(document, -1) + 1
            label = f"doc{document}_q{number}"
            items[label] = Item(label, document, evaluation, question, answer)
    return DataFile(tuple(documents), items, sha256(data).hexdigest())


def _rows(path: Path, data: bytes) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Document, evaluation, and questions with answers of each row."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            yield _row(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            what = f"{type(error).__name__}: {error}"
            remedy = f"is no row of L-Eval ({what}); get the file again"
            raise InputError(OPTION, f"{path}, line {number}", remedy) from None


def _row(row: Any) -> tuple[str, str, list[tuple[str, str]]]:
    text, evaluation = row["input"], row["evaluation"]
    questions, answers = row["instructions"], row["outputs"]
    for value in (text, *questions, *answers):
        if not isinstance(value, str):
            raise TypeError(f"{value!r:.40} is no text")
    if evaluation not in _EVALUATIONS:
        raise ValueError(f"evaluation {evaluation!r:.40} is none of {', '.join(_EVALUATIONS)}")
    if not text.strip():
        raise ValueError("its document is empty")
    return text, evaluation, list(zip(questions, answers, strict=True))
