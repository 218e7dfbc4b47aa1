"""L-Eval files: rows, sources, options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.options import path
from needlework.haystack_fixtures.haystacks.documents import Keep

_HUB = "hf:"


SCORED = ("exam", "f1", "rouge")


SUBSETS: dict[str, tuple[str, ...]] = {
    "scored": SCORED,
    "llm": ("LLM",),
    "human": ("human",),
    "both": ("LLM", "human"),
}


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


def read_file(given: str, source: Source) -> LevalFile:
    """Read a task's file; it stays in memory while it does not change. Raises `InputError`."""
    path = find_file(given, source)
    if path is None:
        raise InputError(OPTION, given, f"has no {source.file}")
    return read(path)


def read(path: Path) -> LevalFile:
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
def _read(path: Path, _changed: int, _size: int) -> LevalFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None
    documents: dict[str, int] = {}
    asked: dict[int, int] = {}
    items: dict[str, LevalQuestion] = {}
    scored = ""
    for number, row in rows(path, data):
        if row.evaluation in SCORED and row.evaluation != (scored := scored or row.evaluation):
            remedy = f"evaluation is {row.evaluation}, and {scored} in the rows above: give each kind a file of its own"
            raise InputError(OPTION, f"{path}:{number}", remedy)
        document = documents.setdefault(row.text, len(documents))
        for question, answer in row.pairs:
            place = asked[document] = asked.get(document, -1) + 1
            label = f"doc{document}_q{place}"
            items[label] = LevalQuestion(label, document, row.evaluation, question, answer)
    if not items:
        raise InputError(OPTION, path, "has no questions: a row has a document, `instructions` and `outputs`")
    return LevalFile(tuple(documents), items, sha256(data).hexdigest())


OPTION = "--leval-data"
_EVALUATIONS = (*SCORED, "LLM", "human")


@dataclass(frozen=True, slots=True)
class LevalRow:
    """A document with its questions and the answer of each. `evaluation`: what its answers are for."""

    text: str
    evaluation: str
    pairs: tuple[tuple[str, str], ...]


def rows(path: Path, data: bytes) -> Iterator[tuple[int, LevalRow]]:
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


def _row(row: dict[str, Any]) -> LevalRow:
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
    return LevalRow(text, evaluation, tuple(zip(questions, answers, strict=True)))


# Tasks are found by this table, never by words in a path. Files of one's own: `own.py`.
Group = Literal["closed", "open"]

# Where a file may lie below the folder that is given: flat, a data folder, a clone, a copy of the data set.
FOLDERS: dict[Group, tuple[str, ...]] = {
    "closed": ("", "Closed-ended-tasks", "LEval-data/Closed-ended-tasks", "LEval/Exam"),
    "open": ("", "Open-ended-tasks", "LEval-data/Open-ended-tasks", "LEval/Generation"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """One task. `name`: L-Eval's, which its file has too. `chance`: score of a guess among a question's options.

    `path`: the file, of a task of one's own.
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


def _closed(name: str, about: str, scorer: str, chance: float = 0.0, keep: Keep = "start") -> Source:
    return Source(f"leval_{name.lower()}", name, "closed", f"L-Eval: {about}", f"leval_{scorer}", chance, keep)


def _open(name: str, about: str, scorer: str) -> Source:
    return Source(f"leval_{name}", name, "open", f"L-Eval: {about}", f"leval_{scorer}")


SOURCES = (
    _closed("coursera", "multiple choice on lectures, one or several options right", "letters", 1 / 15),
    _closed("gsm100", "sums after sixteen worked ones", "math"),
    _closed("quality", "multiple choice on stories", "letter", 1 / 4),
    _closed("topic_retrieval_longchat", "the first, second and third topic of a conversation", "topic"),
    _closed("tpo", "multiple choice on lectures of TOEFL", "letter", 1 / 4),
    # The calls that are asked about stand behind the code.
    _closed("codeU", "what calls into a code base give", "code", keep="end"),
    _closed("sci_fi", "true or false in a story, and in the real world", "sci_fi", 1 / 2),
    _open("financial_qa", "questions on earnings calls", "f1"),
    _open("legal_contract_qa", "clauses of contracts", "f1"),
    _open("multidoc_qa", "questions on several documents of public offices", "f1"),
    _open("narrative_qa", "questions on books and film scripts", "f1"),
    _open("natural_question", "questions on pages of Wikipedia", "f1"),
    _open("scientific_qa", "questions on papers", "f1"),
    _open("gov_report_summ", "summaries of government reports", "rouge"),
    _open("meeting_summ", "what was said in meetings", "rouge"),
    _open("news_summ", "summaries of several news articles", "rouge"),
    _open("paper_assistant", "abstracts and other parts of papers", "rouge"),
    _open("patent_summ", "summaries of patents", "rouge"),
    _open("review_summ", "summaries of hotel reviews", "rouge"),
    _open("tv_show_summ", "summaries of scenes of television series", "rouge"),
)


class LevalOptions(Struct, frozen=True):
    """The options of L-Eval's tasks."""

    leval_data: Annotated[str, path] | None = None  # where its files lie
    leval_subset: Literal["scored", "llm", "human", "both"] = "scored"  # the rows that are asked
    leval_truncation: Literal["exact", "compat"] = "exact"  # how documents are cut
    leval_length_hint: bool = True  # whether open questions tell the length of the reference
    no_truncate: bool = False  # whether documents that are too long are skipped
