"""L-Eval files: rows, sources, options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.options import path
from needlework.haystack_fixtures.documents.data_set import hub_folder
from needlework.haystack_fixtures.haystacks.documents import Keep

OPTION = "--leval-data"
SCORED = ("exam", "f1", "rouge")
SUBSETS: dict[str, tuple[str, ...]] = {
    "scored": SCORED,
    "llm": ("LLM",),
    "human": ("human",),
    "both": ("LLM", "human"),
}
_FORM = "a row has input (the document), instructions, outputs and evaluation (exam, f1, rouge, LLM or human)"
_HUB = "hf:"

Group = Literal["closed", "open"]
# Where a file may lie below the folder that is given: flat, a data folder, a clone, a copy of the data set.
_FOLDERS: dict[Group, tuple[str, ...]] = {
    "closed": ("", "Closed-ended-tasks", "LEval-data/Closed-ended-tasks", "LEval/Exam"),
    "open": ("", "Open-ended-tasks", "LEval-data/Open-ended-tasks", "LEval/Generation"),
}


@dataclass(frozen=True, slots=True)
class LevalSource:
    """One task. `name`: L-Eval's, which its file has too. `chance`: score of a guess among a question's options.

    `path`: the file, of a task of the user's own.
    """

    task: str
    name: str
    group: Group
    about: str
    scorer: str
    chance: float = 0.0
    keep: Keep = "start"
    path: Path | None = None

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.jsonl"


def _source(name: str, about: str, scorer: str, chance: float = 0.0, keep: Keep = "start") -> LevalSource:
    group: Group = "open" if scorer in ("f1", "rouge") else "closed"
    return LevalSource(f"leval_{name.lower()}", name, group, f"L-Eval: {about}", f"leval_{scorer}", chance, keep)


# Tasks are found by this table, never by words in a path.
SOURCES = (
    _source("coursera", "multiple choice on lectures, one or several options right", "letters", 1 / 15),
    _source("gsm100", "sums after sixteen worked ones", "math"),
    _source("quality", "multiple choice on stories", "letter", 1 / 4),
    _source("topic_retrieval_longchat", "the first, second and third topic of a conversation", "topic"),
    _source("tpo", "multiple choice on lectures of TOEFL", "letter", 1 / 4),
    # The calls that are asked about stand behind the code.
    _source("codeU", "what calls into a code base give", "code", keep="end"),
    _source("sci_fi", "true or false in a story, and in the real world", "sci_fi", 1 / 2),
    _source("financial_qa", "questions on earnings calls", "f1"),
    _source("legal_contract_qa", "clauses of contracts", "f1"),
    _source("multidoc_qa", "questions on several documents of public offices", "f1"),
    _source("narrative_qa", "questions on books and film scripts", "f1"),
    _source("natural_question", "questions on pages of Wikipedia", "f1"),
    _source("scientific_qa", "questions on papers", "f1"),
    _source("gov_report_summ", "summaries of government reports", "rouge"),
    _source("meeting_summ", "what was said in meetings", "rouge"),
    _source("news_summ", "summaries of several news articles", "rouge"),
    _source("paper_assistant", "abstracts and other parts of papers", "rouge"),
    _source("patent_summ", "summaries of patents", "rouge"),
    _source("review_summ", "summaries of hotel reviews", "rouge"),
    _source("tv_show_summ", "summaries of scenes of television series", "rouge"),
)


@dataclass(frozen=True, slots=True)
class LevalQuestion:
    """A question with its reference. `document`: its number among the file's. `evaluation`: its row's."""

    label: str
    document: int
    evaluation: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class LevalFile:
    """The different documents of a file, in its order, and all its questions by label (`doc3_q7`)."""

    documents: tuple[str, ...]
    items: dict[str, LevalQuestion]
    sha256: str

    def of(self, subset: str) -> tuple[LevalQuestion, ...]:
        """The questions of a subset."""
        return tuple(item for item in self.items.values() if item.evaluation in SUBSETS[subset])


class LevalRow(Struct):
    """A document with its questions and the answer of each. `evaluation`: what its answers are for."""

    input: str
    instructions: list[str]
    outputs: list[str]
    evaluation: Literal["exam", "f1", "rouge", "LLM", "human"]

    def __post_init__(self) -> None:
        questions, answers = len(self.instructions), len(self.outputs)
        if not self.input.strip():
            raise ValueError("its document (`input`) is empty")
        if questions != answers:
            raise ValueError(f"it has {questions} instructions and {answers} outputs: give each question its answer")
        blank = next((at for at, each in enumerate(self.outputs, 1) if not each.strip()), None)
        if blank:
            raise ValueError(f"answer {blank} of `outputs` is blank: write it, or leave the question out")


def _rows(path: Path, data: bytes) -> Iterator[tuple[int, LevalRow]]:
    """The rows of a file's bytes with their line numbers, from 1. Raises `InputError`."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line, type=LevalRow)
            except msgspec.ValidationError as error:
                raise InputError(OPTION, f"{path}:{number}", f"{error}; {_FORM}") from None
            except (ValueError, RecursionError) as error:
                raise InputError(OPTION, f"{path}:{number}", f"is no JSON ({error}); {_FORM}") from None


def is_hub(given: str) -> bool:
    """Whether `--leval-data` names a data set on the hub."""
    return given.startswith(_HUB)


def _folder(given: str) -> Path:
    """What `--leval-data` names; of `hf:ID` or `hf:ID@REVISION` the folder of the data set. Raises `InputError`."""
    if is_hub(given):
        return hub_folder(OPTION, given, (".jsonl",))
    try:
        Path(given).is_dir()
    except OSError as error:  # as of a name that is too long for a file
        raise InputError(OPTION, given, f"cannot be read ({error.strerror}): give a file or a folder") from None
    return Path(given)


def files_of(given: str) -> tuple[Path, ...]:
    """The jsonl files that `--leval-data` names: a file, those of a pattern, or those of a folder. Raises `InputError`.

    Of a folder: where L-Eval's own files may lie.
    """
    path = _folder(given)
    if path.is_dir():
        folders = dict.fromkeys(path / below for group in _FOLDERS.values() for below in group)
        return tuple(file for folder in folders for file in sorted(folder.glob("*.jsonl")) if file.is_file())
    if path.is_file():
        return (path,)
    if any(char in given for char in "*?["):
        names = sorted(glob(given, recursive=True))  # noqa: PTH207 - a pattern may begin at the root
        files = tuple(Path(name) for name in names if Path(name).is_file())
        if files:
            return files
        raise InputError(OPTION, given, "no file is called so: quote the pattern, and check where it starts")
    remedy = "is no file and no folder: give jsonl files of L-Eval's form, your copy of its data, or hf:L4NLP/LEval"
    raise InputError(OPTION, given, remedy)


def find_file(given: str, source: LevalSource) -> Path | None:
    """The file of a task in what the user gave. Raises `InputError`."""
    if source.path is not None:
        return source.path
    folder = _folder(given)
    if not folder.is_dir():
        return next((path for path in files_of(given) if path.name == source.file), None)
    paths = (folder / below / source.file for below in _FOLDERS[source.group])
    return next((path for path in paths if path.is_file()), None)


def read_source(given: str, source: LevalSource) -> LevalFile:
    """Read a task's file. Raises `InputError`."""
    path = find_file(given, source)
    if path is None:
        raise InputError(OPTION, given, f"has no {source.file}")
    return read_leval_file(path)


def read_leval_file(path: Path) -> LevalFile:
    """Read a file of L-Eval's form; it stays in memory while it does not change. Raises `InputError`."""
    try:
        stat = path.stat()
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None


def has_leval_form(path: Path) -> bool:
    """Whether a file's first row has a document, questions and answers."""
    try:
        with path.open("rb") as file:
            row = json.loads(next((line for line in file if line.strip()), b"null"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(row, dict) and {"input", "instructions", "outputs"} <= row.keys()


@lru_cache(None)
def _read(path: Path, _changed: int, _size: int) -> LevalFile:
    data = path.read_bytes()
    documents: dict[str, int] = {}
    asked: dict[int, int] = {}
    items: dict[str, LevalQuestion] = {}
    scored = ""
    for number, row in _rows(path, data):
        if row.evaluation in SCORED and row.evaluation != (scored := scored or row.evaluation):
            remedy = f"evaluation is {row.evaluation}, and {scored} in the rows above: give each kind a file of its own"
            raise InputError(OPTION, f"{path}:{number}", remedy)
        document = documents.setdefault(row.input, len(documents))
        for question, answer in zip(row.instructions, row.outputs, strict=True):
            place = asked[document] = asked.get(document, -1) + 1
            label = f"doc{document}_q{place}"
            items[label] = LevalQuestion(label, document, row.evaluation, question, answer)
    if not items:
        raise InputError(OPTION, path, "has no questions: a row has a document, `instructions` and `outputs`")
    return LevalFile(tuple(documents), items, sha256(data).hexdigest())


class LevalOptions(Struct, frozen=True):
    """The options of L-Eval's tasks."""

    leval_data: Annotated[str, path] | None = None  # where its files lie
    leval_subset: Literal["scored", "llm", "human", "both"] = "scored"  # the rows that are asked
    leval_truncation: Literal["exact", "compat"] = "exact"  # how documents are cut
    leval_length_hint: bool = True  # whether open questions tell the length of the reference
    no_truncate: bool = False  # whether documents that are too long are skipped
