"""AA-LCR: questions on document sets of about 100k tokens (Artificial Analysis, 2025), user's copy."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile, ZipFile
from zlib import crc32

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.settings import Suite
from needlework.haystack_fixtures.documents.data_set import (
    KINDS,
    OPTION,
    DataSet,
    DataSetLayout,
    RowSummary,
    hub_folder,
)
from needlework.haystack_fixtures.haystacks.documents import Document
from needlework.haystack_fixtures.tasks.published.data_sets import DataSetRows
from needlework.haystack_fixtures.tasks.task import Question

LAYOUT = DataSetLayout(
    name="AA-LCR",
    columns=(
        "document_category", "document_set_id", "question_id", "question", "answer", "data_source_filenames",
        "data_source_urls", "input_tokens",
    ),
    text="data_source_urls",  # never read: the documents are files of their own
    hub="ArtificialAnalysis/AA-LCR",
)  # fmt: skip
_JUDGES = {"judge_aa_lcr": "1.1", "judge_aa_lcr_1_0": "1.0"}
_PRESETS = {"1.1": "aa-lcr", "1.0": "aa-lcr-1-0"}
# Of the questions' numbers and answers of version 1.0; version 1.1 corrects 16 of them, some of which tell its judge
# how to grade.
_ANSWERS_1_0 = "8fb8a257a287c649eef43f0461652ee2ce5654c859b546c54bfe6d7c6bc09430"


class _Questions(DataSetRows):
    """The questions whose documents are all there."""

    def of(self, suite: Suite) -> Mapping[str, RowSummary]:
        """See `DataSetRows`. Raises `InputError` where no question has its documents."""
        rows, lacking = super().of(suite), self.lacking(suite)
        if len(lacking) == len(rows):
            remedy = "has none of the documents' texts: put the extracted texts, or their zip, beside the CSV file"
            raise InputError(OPTION, str(suite.data), remedy)
        return {label: entry for label, entry in rows.items() if label not in lacking}

    def lacking(self, suite: Suite) -> dict[str, str]:
        """The label of each question that is left out, and the first text that it lacks."""
        rows, texts = super().of(suite), document_texts(str(suite.data))
        missing = {label: [name for name in _names(entry) if name not in texts] for label, entry in rows.items()}
        return {label: names[0][1] for label, names in missing.items() if names}


_QUESTIONS = _Questions(
    LAYOUT,
    label=lambda entry: f"q{int(entry.row['question_id']):03}",
    group=lambda entry: entry.row["document_category"],
    size=lambda entry: float(entry.row["input_tokens"]),  # by cl100k
)
DocumentName = tuple[str, str]
"""The set of a document, and its file's name in ASCII letters and digits: some copies have the others garbled."""


def _names(entry: RowSummary) -> list[DocumentName]:
    """The documents of a question, in the order in which the prompt has them."""
    files = str(entry.row["data_source_filenames"]).split(";")
    return [(str(entry.row["document_set_id"]), _plain(file)) for file in files if file.strip()]


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", name)


@lru_cache(2)
def document_texts(data: str) -> Mapping[DocumentName, str]:
    """The texts beside the CSV file that `--data` names, in folders or in a zip. Raises `InputError`."""
    root = hub_folder(OPTION, data, (*KINDS, ".zip")) if data.startswith("hf:") else Path(data)
    folder = root if root.is_dir() else root.parent
    texts: dict[DocumentName, str] = {}
    try:
        for path, content in _text_files(folder):
            texts[path.parent.name, _plain(path.name)] = content.decode("utf-8", "replace")
    except (OSError, BadZipFile) as error:
        raise InputError(OPTION, data, f"its texts cannot be read ({error})") from None
    return texts


def _text_files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*.txt")):
        yield path, path.read_bytes()
    for packed in sorted(folder.rglob("*.zip")):
        with ZipFile(packed) as archive:
            for name in archive.namelist():
                if name.endswith(".txt"):
                    yield Path(name), archive.read(name)


def documents_text(texts: Sequence[str]) -> str:
    """The documents as the prompt has them, between numbered lines."""
    numbered = enumerate(texts, start=1)
    return "\n\n".join(f"BEGIN DOCUMENT {number}:\n{text}\nEND DOCUMENT {number}" for number, text in numbered)


def answers_version(data: DataSet) -> str:
    """`1.0` of a copy with the answers of that version, else `1.1`."""
    answers = sorted((str(entry.row["question_id"]), str(entry.row["answer"])) for entry in data.entries)
    return "1.0" if sha256(json.dumps(answers).encode()).hexdigest() == _ANSWERS_1_0 else "1.1"


def _check(suites: Sequence[Suite]) -> None:
    """Refuse answers of one version with the judge of the other. Raises `InputError`."""
    _QUESTIONS.check(suites)
    for suite in suites:
        version, of_judge = answers_version(_QUESTIONS.data(suite)), _JUDGES.get(suite.scorer or "")
        if of_judge is not None and of_judge != version:
            remedy = f"has the answers of version {version}, and they belong to its judge: --preset {_PRESETS[version]}"
            raise InputError(OPTION, str(suite.data), remedy)


def _ask(suite: Suite, cell: Cell, _seed: int) -> Question:
    entry = _QUESTIONS.of(suite)[cell.needle]
    texts = document_texts(str(suite.data))
    context = documents_text([texts[name] for name in _names(entry)])
    answer = str(entry.row["answer"])
    return Question(
        question=str(entry.row["question"]),
        answer=answer,
        reference={
            "answers": (answer,),
            "chance": 0.0,
            "floor": 0.0,
            "category": str(entry.row["document_category"]),
            "sample": crc32(str(entry.row["document_set_id"]).encode()),  # questions on one set go together
            **_QUESTIONS.reference(suite),
        },
        context=Document(context, truncation="never"),
        material=sha256(context.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _notes(suite: Suite, every: bool) -> list[str]:
    missing = _QUESTIONS.lacking(suite)
    listed = "; ".join(f"{label}: {name}" for label, name in list(missing.items())[: None if every else 1])
    return [f"{len(missing)} questions are left out, as the copy lacks a text of theirs ({listed})"] if missing else []


TASKS = (_QUESTIONS.task("aa_lcr", _ask, check=_check, notes=_notes),)
