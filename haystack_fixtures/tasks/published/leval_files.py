"""L-Eval files: rows, sources, options."""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.files import read_once
from needlework.core.options import HUB
from needlework.haystack_fixtures.documents.data_set import hub_folder
from needlework.haystack_fixtures.haystacks.documents import Keep

OPTION = "--leval-data"
SCORED = ("exam", "f1", "rouge")
BY_JUDGES = ("LLM", "human")
SUBSETS: dict[str, tuple[str, ...]] = {
    "scored": SCORED,
    "llm": ("LLM",),
    "human": ("human",),
    "both": ("LLM", "human"),
}
_FORM = "a row has input (the document), instructions, outputs and evaluation (exam, f1, rouge, LLM or human)"

# Where a file may lie below the folder that is given: flat, a data folder, a clone, a copy of the data set.
_FOLDERS = (
    "", "Closed-ended-tasks", "LEval-data/Closed-ended-tasks", "LEval/Exam", "Open-ended-tasks",
    "LEval-data/Open-ended-tasks", "LEval/Generation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LevalTask:
    """One of L-Eval's tasks, or a file of one's own in L-Eval's form."""

    name: str  # L-Eval's; its file has it too
    about: str
    scorer: str  # the strict one; the published one ends in `_compat`
    questions: tuple[int, ...] = ()  # of each document; empty where that is not known
    expected: int = 0  # questions in all
    chance: float = 0.0  # score of a guess among a question's options
    keep: Keep = "start"
    is_own: bool = False
    path: Path | None = None  # the file of one's own

    @property
    def task(self) -> str:
        """Its name among all tasks."""
        return f"leval_{self.name.lower()}"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.jsonl"

    @property
    def group(self) -> Literal["closed", "open"]:
        """The group of its questions: closed (exams) or open."""
        return "open" if self.scorer in ("leval_f1", "leval_rouge") else "closed"

    @property
    def evaluation(self) -> str:
        """The evaluation that its rows name: `exam`, `f1` or `rouge`."""
        return self.scorer.removeprefix("leval_") if self.group == "open" else "exam"


def _read_tasks() -> Iterator[LevalTask]:
    table = Path(__file__).parents[1] / "data" / "leval.toml"
    for name, row in tomllib.loads(table.read_text("utf-8")).items():
        counts = row.pop("questions", ())
        questions = (counts,) * row.pop("documents") if "documents" in row else tuple(counts)
        about, scorer = f"L-Eval: {row.pop('about')}", f"leval_{row.pop('rule')}"
        yield LevalTask(name, about, scorer, questions, row.pop("expected", sum(questions)), **row)


# Tasks are found by this table, never by words in a path.
LEVAL_TASKS = MappingProxyType({task.name: task for task in _read_tasks()})
# The published closed average leaves topic retrieval out.
CLOSED = ("tpo", "quality", "coursera", "sci_fi", "gsm100", "codeU")
WITH_F1, WITH_ROUGE = (
    tuple(task.name for task in LEVAL_TASKS.values() if task.evaluation == kind) for kind in ("f1", "rouge")
)


@dataclass(frozen=True, slots=True)
class LevalQuestion:
    """A question with its reference."""

    label: str
    document: int  # its number among the file's
    evaluation: str  # its row's
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class LevalFile:
    """A file of L-Eval's form."""

    documents: tuple[str, ...]  # different ones, in the order of the file
    items: dict[str, LevalQuestion]  # all its questions by label (`doc3_q7`)
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
        blank = next((number for number, answer in enumerate(self.outputs, 1) if not answer.strip()), None)
        if blank:
            raise ValueError(f"answer {blank} of `outputs` is blank: write it, or leave the question out")


def files_of(data: str) -> tuple[Path, ...]:
    """The jsonl files of `--leval-data`: a file, a pattern, a folder, or `hf:ID`. Raises `InputError`.

    Of a folder: where L-Eval's own files may lie.
    """
    path = hub_folder(OPTION, data, (".jsonl",)) if data.startswith(HUB) else Path(data)
    try:
        if path.is_dir():
            return tuple(
                file for below in _FOLDERS for file in sorted((path / below).glob("*.jsonl")) if file.is_file()
            )
        if path.is_file():
            return (path,)
    except OSError as error:  # as of a name that is too long for a file
        raise InputError(OPTION, data, f"cannot be read ({error.strerror}): give a file or a folder") from None
    if any(char in data for char in "*?["):
        names = sorted(glob(data, recursive=True))  # noqa: PTH207 - a pattern may begin at the root
        if files := tuple(Path(name) for name in names if Path(name).is_file()):
            return files
        raise InputError(OPTION, data, "no file is called so: quote the pattern, and check where it starts")
    remedy = "is no file and no folder: give jsonl files of L-Eval's form, your copy of its data, or hf:L4NLP/LEval"
    raise InputError(OPTION, data, remedy)


def find_file(data: str, task: LevalTask) -> Path | None:
    """The file of a task in what `--leval-data` names. Raises `InputError`."""
    return task.path or next((path for path in files_of(data) if path.name == task.file), None)


def read_task(data: str, task: LevalTask) -> LevalFile:
    """Read a task's file. Raises `InputError`."""
    path = find_file(data, task)
    if path is None:
        raise InputError(OPTION, data, f"has no {task.file}")
    return read_leval_file(path)


def read_leval_file(path: Path) -> LevalFile:
    """Read a file of L-Eval's form. Raises `InputError`."""
    try:
        return read_once(_read, path)
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


def _read(path: Path) -> LevalFile:
    data = path.read_bytes()
    documents: dict[str, int] = {}
    counts: Counter[int] = Counter()  # questions of each document
    items: dict[str, LevalQuestion] = {}
    scored = ""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=LevalRow)
        except msgspec.ValidationError as error:
            raise InputError(OPTION, f"{path}:{number}", f"{error}; {_FORM}") from None
        except (ValueError, RecursionError) as error:
            raise InputError(OPTION, f"{path}:{number}", f"is no JSON ({error}); {_FORM}") from None
        if row.evaluation in SCORED and row.evaluation != (scored := scored or row.evaluation):
            remedy = f"evaluation is {row.evaluation}, and {scored} in the rows above: give each kind a file of its own"
            raise InputError(OPTION, f"{path}:{number}", remedy)
        document = documents.setdefault(row.input, len(documents))
        for question, answer in zip(row.instructions, row.outputs, strict=True):
            label = f"doc{document}_q{counts[document]}"
            counts[document] += 1
            items[label] = LevalQuestion(label, document, row.evaluation, question, answer)
    if not items:
        raise InputError(OPTION, path, "has no questions: a row has a document, `instructions` and `outputs`")
    return LevalFile(tuple(documents), items, sha256(data).hexdigest())
