"""Rows of published data sets as trials; GraphWalks and LongBench v2, on a user's copy."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import ceil, log2
from typing import Any, Literal
from zlib import crc32

from needlework.core.errors import InputError
from needlework.core.grid import Cell, slug
from needlework.core.settings import Suite
from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.documents.data_set import (
    OPTION,
    DataSet,
    DataSetLayout,
    RowSummary,
    chosen,
    iso_date,
    open_data,
)
from needlework.haystack_fixtures.haystacks.documents import Document
from needlework.haystack_fixtures.retrieval.search import Search
from needlework.haystack_fixtures.tasks.task import Question, Task, our_task


@dataclass(frozen=True)
class DataSetRows:
    """The rows of a data set as trials, each with a label of its own."""

    layout: DataSetLayout
    label: Callable[[RowSummary], str]  # a row's, of letters, digits and `_`
    group: Callable[[RowSummary], object]  # rows of one group share `--data-limit`
    # About how many tokens prompt and answer have, of rows that are asked as they are; others are cut to each length.
    size: Callable[[RowSummary], float] | None = None

    def data(self, suite: Suite) -> DataSet:
        """The user's copy. Raises `InputError` where none is named."""
        name = suite.data
        if name is None:
            hub = f", or {OPTION} hf:{self.layout.hub}" if self.layout.hub else ""
            remedy = f"{suite.task} asks rows of {self.layout.name}: name your copy with {OPTION} PATH{hub}"
            raise InputError(OPTION, "", remedy)
        return open_data(name, self.layout)

    def of(self, suite: Suite) -> Mapping[str, RowSummary]:
        """The rows that a suite asks, by label. Raises `InputError`."""
        return _labelled_rows(self, self.data(suite), suite.data_where, suite.data_limit)

    def lengths(self, suite: Suite, label: str) -> tuple[int, ...]:
        """The least of the suite's lengths that holds a row; none where all are shorter."""
        if self.size is None:
            return suite.lengths
        size = self.size(self.of(suite)[label])
        return tuple(sorted(length for length in suite.lengths if length >= size)[:1])

    def _sizes(self, suite: Suite) -> list[float]:
        return [self.size(entry) for entry in self.of(suite).values()] if self.size else []

    def _over(self, suite: Suite) -> int:
        """The number of rows that are longer than every length."""
        return sum(size > max(suite.lengths) for size in self._sizes(suite))

    def facts(self, suite: Suite) -> dict[str, dict[str, Any]]:
        """The identity of the copy, for the manifest, and the number of its rows that are asked."""
        facts = self.data(suite).facts
        if self.size is not None:
            facts |= {"chosen": len(self.of(suite)), "over_lengths": self._over(suite)}
        return {"data_sets": {self.layout.name: facts}}

    def reference(self, suite: Suite) -> dict[str, Any]:
        """The copy's entry in every reference: the beginning of its hash, and rows longer than every length.
        `outdated`: the reason why its rows are not today's."""
        data, over = self.data(suite), self._over(suite)
        outdated = {"outdated": data.outdated} if data.outdated else {}
        return {"data": data.sha256[:12], **outdated, **({"over_lengths": over} if over else {})}

    def corpus(self, suite: Suite) -> Corpus:
        """The user's copy as a corpus, whose hash is a part of trial keys."""
        layout = self.layout
        source = f"https://huggingface.co/datasets/{layout.hub}" if layout.hub else layout.name
        return Corpus(f"{layout.name}, the user's copy", "en", "that of the data", source, (), self.data(suite).sha256)

    def check(self, suites: Sequence[Suite]) -> None:
        """Refuse at once what keeps rows from being asked. Raises `InputError`."""
        name = self.layout.name
        for suite in suites:
            self.data(suite)
            sizes = self._sizes(suite)
            if sizes and min(sizes) > max(suite.lengths):
                least = int(min(sizes)) + 1
                remedy = f"all {len(sizes)} rows of {name} are longer: the shortest has about {least} tokens"
                raise InputError("--lengths", ",".join(map(str, suite.lengths)), remedy)
            if suite.controls:
                remedy = f"rows of {name} are asked as they are: leave it out"
                raise InputError("--controls", ",".join(suite.controls), remedy)
            if suite.language != "en":
                raise InputError("--language", suite.language, f"rows of {name} have one language: leave it out")

    def task(self, name: str, ask: Callable[[Suite, Cell, int], Question], **functions: Any) -> Task:
        """The task that asks them."""
        of_rows = {"lengths": self.lengths, "corpus": self.corpus, "check": self.check, "facts": self.facts}
        return our_task(name, ask, labels=lambda suite: tuple(self.of(suite)), **of_rows | functions)


def sized_rows(
    layout: DataSetLayout, group: Callable[[RowSummary], str], size: Callable[[RowSummary], float]
) -> DataSetRows:
    """Rows with labels such as `n8_q0123`: the group and the row's number.
    `--data-limit` counts those of a group between two powers of 2 of tokens."""
    return DataSetRows(
        layout,
        label=lambda entry: f"{group(entry)}_q{entry.number:04}",
        group=lambda entry: (group(entry), ceil(log2(max(1.0, size(entry))))),
        size=size,
    )


@lru_cache(8)
def _labelled_rows(rows: DataSetRows, data: DataSet, where: Sequence[str], limit: int) -> dict[str, RowSummary]:
    return {rows.label(entry): entry for entry in chosen(data, where, limit, rows.group)}


# Text is never cut: a graph without some of its edges has another answer.
GRAPHWALKS_LAYOUT = DataSetLayout(
    name="GraphWalks",
    columns=("prompt", "problem_type"),
    text="prompt",
    count="prompt_chars",
    hub="openai/graphwalks",
    corrected="2026-02-27",
)
_ANSWERS = ("answer_nodes", "answer")  # what the files and the data card call it
_OPERATION = "Operation:"
_CHARS_PER_TOKEN = 1.7  # of lists of ten hexadecimal digits
_GRAPHS = sized_rows(
    GRAPHWALKS_LAYOUT,
    lambda entry: slug(str(entry.row["problem_type"])).lower().replace("-", "_"),
    lambda entry: entry.chars / _CHARS_PER_TOKEN,
)


def graph_nodes(entry: RowSummary) -> tuple[str, ...]:
    """The right nodes of a row. Raises `InputError`."""
    nodes = next((entry.row[name] for name in _ANSWERS if name in entry.row), None)
    if not isinstance(nodes, list) or not all(isinstance(node, str) for node in nodes):
        raise InputError(OPTION, f"row {entry.number + 1}", "has no list of texts answer_nodes")
    return tuple(nodes)


def _graphwalks(suite: Suite, cell: Cell, _seed: int) -> Question:
    entries = _GRAPHS.of(suite)
    entry = entries[cell.needle]
    prompt, nodes = _GRAPHS.data(suite).text(entry.number), graph_nodes(entry)
    at = prompt.rfind(_OPERATION)
    graph, operation = (prompt[:at], prompt[at:]) if at >= 0 else (prompt, "")
    return Question(
        question=operation,
        answer=f"Final Answer: [{', '.join(nodes)}]",
        reference={
            "parts": nodes,
            "chance": 0.0,
            "floor": sum(not graph_nodes(each) for each in entries.values()) / len(entries),
            "problem_type": entry.row["problem_type"],
            "row": entry.number,
            **_GRAPHS.reference(suite),
            "added": iso_date(entry.row.get("date_added")),
        },
        context=Document(graph, truncation="never"),
        verbatim=True,
    )


# A document that is too long loses its middle (`--data-cut exact`; `build_document` cuts). `compat` cuts the whole
# message as the authors do (`cut_middle`). The closed-book task asks without the document: what it
# scores above chance the model knew before.
LONGBENCH_V2_LAYOUT = DataSetLayout(
    name="LongBench v2",
    columns=("_id", "question", "answer", "context"),
    text="context",
    hub="zai-org/LongBench-v2",
)
LETTERS = "ABCD"
_BOOKS = DataSetRows(
    LONGBENCH_V2_LAYOUT,
    label=lambda entry: f"q{slug(str(entry.row['_id'])).replace('-', '_')}",
    group=lambda entry: (entry.row.get("difficulty"), entry.row.get("length")),
)


def longbench_groups(row: Mapping[str, Any]) -> dict[str, str]:
    """The groups of the authors' table that a row has: `difficulty`, `length_class` and `domain`."""
    names = {"difficulty": "difficulty", "length_class": "length", "domain": "domain"}
    return {name: str(row[column]) for name, column in names.items() if row.get(column)}


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """A question with its choices, A to D, and the letter of the right one."""

    text: str
    choices: tuple[str, ...]
    answer: str

    @property
    def with_choices(self) -> str:
        """The question and its choices as the authors' prompt has them."""
        listed = "\n".join(f"({letter}) {choice}" for letter, choice in zip(LETTERS, self.choices, strict=True))
        return f"{self.text}\nChoices:\n{listed}"


def choice_question(entry: RowSummary) -> ChoiceQuestion:
    """The question of a row; its choices are columns, or a list (recursal's copy). Raises `InputError`."""
    row = entry.row
    choices = row.get("choices") or [row.get(f"choice_{letter}") for letter in LETTERS]
    texts = (row["question"], row["answer"], *choices)
    if len(choices) != len(LETTERS) or not all(isinstance(text, str) for text in texts):
        remedy = "needs texts question, answer and choice_A to choice_D (or a list of four, choices)"
        raise InputError(OPTION, f"row {entry.number + 1}", remedy)
    if row["answer"].strip() not in LETTERS:
        raise InputError(OPTION, f"row {entry.number + 1}", "its answer is none of A, B, C, D")
    return ChoiceQuestion(row["question"].strip(), tuple(choice.strip() for choice in choices), row["answer"].strip())


def as_authors_fill(document: str, question: ChoiceQuestion) -> tuple[str, str]:
    """Fill in document and question as the authors' code does: by plain replacement, one after the other.

    So a document that contains `$Q$` or `$C_A$` gets question and choices, too.
    """
    names = ("$Q$", *(f"$C_{letter}$" for letter in LETTERS))
    filled, shown = document.strip(), replace(question, text=names[0], choices=names[1:]).with_choices
    for name, text in zip(names, (question.text, *question.choices), strict=True):
        filled, shown = filled.replace(name, text), shown.replace(name, text)
    return filled, shown


def _longbench_v2(book: Literal["open", "closed"], suite: Suite, cell: Cell, _seed: int) -> Question:
    entries = _BOOKS.of(suite)
    entry = entries[cell.needle]
    question, text = choice_question(entry), _BOOKS.data(suite).text(entry.number)
    context = Document(text.strip(), "ends", "none" if suite.data_cut == "none" else "exact")
    shown = question.with_choices
    if suite.data_cut == "compat":
        filled, shown = as_authors_fill(text, question)
        context = Document(filled, truncation="never", message_tokens=suite.data_window)
    answers = Counter(str(each.row["answer"]).strip() for each in entries.values())
    return Question(
        question=shown,
        answer=f"The correct answer is ({question.answer}).",
        reference={
            "answers": (question.answer,),
            "question": question.text,
            "chance": 1 / len(LETTERS),
            "floor": max(answers.values()) / len(entries),
            "sample": crc32(text.encode("utf-8", "surrogatepass")),  # questions on one document go together
            **longbench_groups(entry.row),
            **_BOOKS.reference(suite),
        },
        context=context if book == "open" else Document(""),
        search=Search(
            texts=((_BOOKS.label(entry), text),),
            query=question.text,
            answer=question.choices[LETTERS.index(question.answer)],
        ),
    )


TASKS = (
    _GRAPHS.task("graphwalks", _graphwalks),
    _BOOKS.task("longbench_v2", partial(_longbench_v2, "open")),
    _BOOKS.task("longbench_v2_closed_book", partial(_longbench_v2, "closed")),
)
