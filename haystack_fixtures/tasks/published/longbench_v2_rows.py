"""The rows of LongBench v2: a document, a question, four choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from needlework.haystack_fixtures.documents.data_sets.layout import OPTION, Entry, Layout
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import slug

LAYOUT = Layout(
    name="LongBench v2",
    columns=("_id", "question", "answer", "context"),
    text="context",
    hub="zai-org/LongBench-v2",
)
LETTERS = "ABCD"
_CHOICE = "choice_"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its choices, A to D, and the letter of the right one."""

    text: str
    choices: tuple[str, ...]
    answer: str

    @property
    def asked(self) -> str:
        """The question and its choices as the authors' prompt has them."""
        listed = "\n".join(f"({letter}) {choice}" for letter, choice in zip(LETTERS, self.choices, strict=True))
        return f"{self.text}\nChoices:\n{listed}"


def label_of(entry: Entry) -> str:
    """`q66ebc...` of a row's `_id`."""
    return f"q{slug(str(entry.row['_id'])).replace('-', '_')}"


def question_of(entry: Entry) -> Question:
    """The question of a row; its choices are columns, or a list (recursal's copy). Raises `InputError`."""
    row = entry.row
    choices = row.get("choices") or [row.get(f"{_CHOICE}{letter}") for letter in LETTERS]
    texts = (row["question"], row["answer"], *choices)
    if len(choices) != len(LETTERS) or not all(isinstance(text, str) for text in texts):
        remedy = "needs texts question, answer and choice_A to choice_D (or a list of four, choices)"
        raise InputError(OPTION, f"row {entry.number + 1}", remedy)
    if row["answer"].strip() not in LETTERS:
        raise InputError(OPTION, f"row {entry.number + 1}", "its answer is none of A, B, C, D")
    return Question(row["question"].strip(), tuple(choice.strip() for choice in choices), row["answer"].strip())


def as_authors_fill(document: str, question: Question) -> tuple[str, str]:
    """Document and question as the authors' code fills them in: one after the other, by plain replacement.

    A document that holds `$Q$` or `$C_A$` then has question and choices in it, too.
    """
    names = ["$Q$", *(f"$C_{letter}$" for letter in LETTERS)]
    texts = [question.text, *question.choices]
    filled = document.strip()
    for name, text in zip(names, texts, strict=True):
        filled = filled.replace(name, text)
    asked = Question("$Q$", tuple(names[1:]), question.answer).asked
    for name, text in zip(names, texts, strict=True):
        asked = asked.replace(name, text)
    return filled, asked


def groups_of(row: Mapping[str, Any]) -> dict[str, str]:
    """What the authors' table tells apart, where a row has it: `difficulty`, `length_class` and `domain`."""
    names = {"difficulty": "difficulty", "length_class": "length", "domain": "domain"}
    return {name: str(row[column]) for name, column in names.items() if row.get(column)}
