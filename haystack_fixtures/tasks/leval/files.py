"""L-Eval's data files: a document with its questions in each row; equal documents are one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from glob import glob
from hashlib import sha256
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tasks.leval.rows import OPTION, SCORED, rows
from needlework.haystack_fixtures.tasks.leval.sources import FOLDERS, Source

_HUB = "hf:"
SUBSETS: dict[str, tuple[str, ...]] = {
    "scored": SCORED,
    "llm": ("LLM",),
    "human": ("human",),
    "both": ("LLM", "human"),
}


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


def is_hub(given: str) -> bool:
    """Whether `--leval-data` names a data set on the hub."""
    return given.startswith(_HUB)


@lru_cache(2)
def data_folder(given: str) -> Path:
    """The folder of `--leval-data`; of `hf:ID` or `hf:ID@REVISION` that of the data set, fetched into the hub's cache.

    Only the jsonl files are fetched: code that a data set carries is never run. Raises `InputError`.
    """
    if not is_hub(given):
        try:
            Path(given).is_dir()
        except OSError as error:  # as of a name that is too long for a file
            raise InputError(OPTION, given, f"cannot be read ({error.strerror}): give a file or a folder") from None
        return Path(given)
    from huggingface_hub import snapshot_download

    name, _, revision = given.removeprefix(_HUB).partition("@")
    try:
        found = snapshot_download(name, repo_type="dataset", revision=revision or None, allow_patterns=["*.jsonl"])
    except Exception as error:  # the hub's client and its transport raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError(OPTION, given, f"the hub gave nothing ({why}); give a folder") from error
    return Path(found)


def files_of(given: str) -> tuple[Path, ...]:
    """The jsonl files that `--leval-data` names: a file, those of a pattern, or those of a folder. Raises `InputError`.

    Of a folder: where L-Eval's own files may lie.
    """
    path = data_folder(given)
    if path.is_dir():
        places = dict.fromkeys(path / below for group in FOLDERS.values() for below in group)
        return tuple(file for place in places for file in sorted(place.glob("*.jsonl")) if file.is_file())
    if path.is_file():
        return (path,)
    if any(char in given for char in "*?["):
        names = sorted(glob(given, recursive=True))  # noqa: PTH207 - a pattern may begin at the root
        found = tuple(Path(name) for name in names if Path(name).is_file())
        if found:
            return found
        raise InputError(OPTION, given, "no file is called so: quote the pattern, and check where it starts")
    remedy = "is no file and no folder: give jsonl files of L-Eval's form, your copy of its data, or hf:L4NLP/LEval"
    raise InputError(OPTION, given, remedy)


def find_file(given: str, source: Source) -> Path | None:
    """The file of a task in what the user gave. Raises `InputError`."""
    if source.path is not None:
        return source.path
    folder = data_folder(given)
    if not folder.is_dir():
        return next((path for path in files_of(given) if path.name == source.file), None)
    places = (folder / below / source.file for below in FOLDERS[source.group])
    return next((place for place in places if place.is_file()), None)


def read_file(given: str, source: Source) -> DataFile:
    """Read a task's file; it stays in memory while it does not change. Raises `InputError`."""
    path = find_file(given, source)
    if path is None:
        raise InputError(OPTION, given, f"has no {source.file}")
    return read(path)


def read(path: Path) -> DataFile:
    """Read a file of L-Eval's form; it stays in memory while it does not change. Raises `InputError`."""
    try:
        stat = path.stat()
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None
    return _read(path, stat.st_mtime_ns, stat.st_size)


def has_the_form(path: Path) -> bool:
    """Whether a file's first row has a document, questions and answers."""
    try:
        with path.open("rb") as file:
            row = json.loads(next((line for line in file if line.strip()), b"null"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(row, dict) and {"input", "instructions", "outputs"} <= row.keys()


@lru_cache(None)
def _read(path: Path, _changed: int, _size: int) -> DataFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None
    documents: dict[str, int] = {}
    asked: dict[int, int] = {}
    items: dict[str, Item] = {}
    scored = ""
    for number, row in rows(path, data):
        if row.evaluation in SCORED and row.evaluation != (scored := scored or row.evaluation):
            remedy = f"evaluation is {row.evaluation}, and {scored} in the rows above: give each kind a file of its own"
            raise InputError(OPTION, f"{path}:{number}", remedy)
        document = documents.setdefault(row.text, len(documents))
        for question, answer in row.pairs:
            place = asked[document] = asked.get(document, -1) + 1
            label = f"doc{document}_q{place}"
            items[label] = Item(label, document, row.evaluation, question, answer)
    if not items:
        raise InputError(OPTION, path, "has no questions: a row has a document, `instructions` and `outputs`")
    return DataFile(tuple(documents), items, sha256(data).hexdigest())
