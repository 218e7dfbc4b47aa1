"""GraphWalks and LongBench v2, on a user's copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import ceil, log2
from typing import Any, Literal
from zlib import crc32

from needlework.core.errors import InputError
from needlework.core.grid import Cell, slug
from needlework.core.settings import Suite, family_options
from needlework.haystack_fixtures.corpora.files import Corpus
from needlework.haystack_fixtures.documents.data_set import DataSet, chosen, iso_date, nominal_length, open_data
from needlework.haystack_fixtures.documents.data_set_files import OPTION, DataOptions, DataSetLayout, RowSummary
from needlework.haystack_fixtures.haystacks.documents import Document
from needlework.haystack_fixtures.retrieval.search import Search
from needlework.haystack_fixtures.tasks.task import Question, Task, no_depths

# asked.
Group = Callable[[RowSummary], str]
Size = Callable[[RowSummary], float]
Sizes = Callable[[Suite], Mapping[str, float]]
Facts = dict[str, dict[str, Any]]


def data_of(layout: DataSetLayout, suite: Suite) -> DataSet:
    """The user's copy. Raises `InputError` where none is named."""
    given = family_options(suite, DataOptions).data
    if given is None:
        where = f", or {OPTION} hf:{layout.hub}" if layout.hub else ""
        raise InputError(
            OPTION, "", f"{suite.task} asks rows of {layout.name}: name your copy with {OPTION} PATH{where}"
        )
    return open_data(given, layout)


def entries_of(layout: DataSetLayout, suite: Suite, group: Group, size: Size) -> dict[str, RowSummary]:
    """The rows that a suite asks, by label (`n8_q0123`: the group and the row's number). Raises `InputError`.

    `size`: about how many tokens a row has. `--data-limit` counts those of a group between two powers of 2.
    """
    return _entries(data_of(layout, suite), family_options(suite, DataOptions), group, size)


@lru_cache(8)
def _entries(data: DataSet, own: DataOptions, group: Group, size: Size) -> dict[str, RowSummary]:
    def kind(entry: RowSummary) -> object:
        return group(entry), ceil(log2(max(1.0, size(entry))))

    return {f"{group(entry)}_q{entry.number:04}": entry for entry in chosen(data, own, kind)}


def told_of(layout: DataSetLayout, suite: Suite, needed: Sizes | None = None) -> dict[str, str | int]:
    """What every reference tells of the copy: the beginning of its hash, why its rows are not today's, and how many
    rows are longer than every length."""
    data = data_of(layout, suite)
    over = _over(suite, needed)
    outdated = {"outdated": data.outdated} if data.outdated else {}
    return {"data": data.sha256[:12], **outdated, **({"over_lengths": over} if over else {})}


def _over(suite: Suite, needed: Sizes | None) -> int:
    longest = max(suite.lengths)
    return sum(size > longest for size in needed(suite).values()) if needed else 0


def corpus_of(layout: DataSetLayout, suite: Suite) -> Corpus:
    """The copy as a run's texts: its hash is what a trial's key knows of it."""
    data = data_of(layout, suite)
    source = f"https://huggingface.co/datasets/{layout.hub}" if layout.hub else layout.name
    return Corpus(f"{layout.name}, the user's copy", "en", "that of the data", source, (), data.sha256)


def facts_of(layout: DataSetLayout, suite: Suite, needed: Sizes | None = None) -> Facts:
    """Which copy it is, for the manifest, and how many of its rows are asked. `needed`: estimated tokens by label."""
    facts = data_of(layout, suite).facts
    if needed is not None:
        facts |= {"chosen": len(needed(suite)), "over_lengths": _over(suite, needed)}
    return {"data_sets": {layout.name: facts}}


def check_rows(layout: DataSetLayout, suites: Sequence[Suite], needed: Sizes | None = None) -> None:
    """Tell at once what keeps rows from being asked. Raises `InputError`."""
    for suite in suites:
        data_of(layout, suite)
        sizes = needed(suite) if needed else {}
        if sizes and min(sizes.values()) > max(suite.lengths):
            least = int(min(sizes.values())) + 1
            remedy = f"all {len(sizes)} rows of {layout.name} are longer: the shortest has about {least} tokens"
            raise InputError("--lengths", ",".join(map(str, suite.lengths)), remedy)
        if suite.controls:
            remedy = f"rows of {layout.name} are asked as they are: leave it out"
            raise InputError("--controls", ",".join(suite.controls), remedy)
        if suite.language != "en":
            raise InputError("--language", suite.language, f"rows of {layout.name} have one language: leave it out")


@dataclass(frozen=True)
class DataSetRows:
    """The rows of a data set as trials: each has a label of its own, and is asked at the shortest length that holds it.

    `group`: what a row's label begins with; `size`: about how many tokens its prompt and answer have.
    """

    layout: DataSetLayout
    group: Group
    size: Size

    def of(self, suite: Suite) -> dict[str, RowSummary]:
        """The rows that a suite asks, by label. Raises `InputError`."""
        return entries_of(self.layout, suite, self.group, self.size)

    def sizes(self, suite: Suite) -> dict[str, float]:
        """About how many tokens each of them has."""
        return {label: self.size(entry) for label, entry in self.of(suite).items()}

    def told(self, suite: Suite) -> dict[str, Any]:
        """What a record's reference tells of the user's copy."""
        return told_of(self.layout, suite, self.sizes)

    def task(self, name: str, about: str, ask: Callable[[Suite, Cell, int], Question]) -> Task:
        """The task that asks them; its family and its scorer have its name."""
        return Task(
            name,
            about,
            lambda suite: tuple(self.of(suite)),
            no_depths,
            ask,
            family=name,
            scorer=name,
            version=1,
            absent=False,
            focused=False,
            lengths=lambda suite, label: nominal_length(self.size(self.of(suite)[label]), suite.lengths),
            corpus=partial(corpus_of, self.layout),
            check=partial(check_rows, self.layout, needed=self.sizes),
            facts=partial(facts_of, self.layout, needed=self.sizes),
            rows=True,
        )


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


def _group(entry: RowSummary) -> str:
    return slug(str(entry.row["problem_type"])).lower().replace("-", "_")


def _size(entry: RowSummary) -> float:
    """About how many tokens prompt and answer have."""
    return entry.chars / _CHARS_PER_TOKEN


ROWS = DataSetRows(GRAPHWALKS_LAYOUT, _group, _size)


def nodes_of(entry: RowSummary) -> tuple[str, ...]:
    """The right nodes of a row. Raises `InputError`."""
    found = next((entry.row[name] for name in _ANSWERS if name in entry.row), None)
    if not isinstance(found, list) or not all(isinstance(node, str) for node in found):
        raise InputError(OPTION, f"row {entry.number + 1}", "has no list of texts answer_nodes")
    return tuple(found)


def _ask(suite: Suite, cell: Cell, _seed: int) -> Question:
    data, entries = data_of(GRAPHWALKS_LAYOUT, suite), ROWS.of(suite)
    entry = entries[cell.needle]
    prompt, nodes = data.text(entry.number), nodes_of(entry)
    at = prompt.rfind(_OPERATION)
    graph, operation = (prompt[:at], prompt[at:]) if at >= 0 else (prompt, "")
    empty = sum(not nodes_of(each) for each in entries.values())
    return Question(
        needles=(),
        depths=(),
        question=operation,
        answer=f"Final Answer: [{', '.join(nodes)}]",
        reference={"parts": nodes, "question": operation, "language": "en", "chance": 0.0}
        | {
            "floor": empty / len(entries),
            "problem_type": entry.row["problem_type"],
            "row": entry.number,
            **ROWS.told(suite),
            "added": iso_date(entry.row.get("date_added")),
        },
        context=Document(graph, truncation="never"),
        verbatim=True,
    )


def reference_of(entry: RowSummary) -> dict[str, Any]:
    """What an answer to a row is scored with."""
    return {"parts": nodes_of(entry)}


_ABOUT = "GraphWalks: nodes at a distance, and parents, in a list of edges"
TASKS = (ROWS.task("graphwalks", _ABOUT, _ask),)


# A document that is too long loses its middle, to the token, while question and template stay whole (`--data-cut
# exact`). `compat` cuts the whole prompt as the authors do. The closed-book task asks without the document: what it
# scores above chance the model knew before.
FAMILY = "longbench_v2"
Book = Literal["open", "closed"]


def _longbench_v2_entries(suite: Suite) -> dict[str, RowSummary]:
    return _chosen(data_of(LAYOUT, suite), family_options(suite, DataOptions))


@lru_cache(4)
def _chosen(data: DataSet, own: DataOptions) -> dict[str, RowSummary]:
    def group(entry: RowSummary) -> object:
        return entry.row.get("difficulty"), entry.row.get("length")

    return {label_of(entry): entry for entry in chosen(data, own, group)}


def _longbench_v2_ask(book: Book, suite: Suite, cell: Cell, _seed: int) -> Question:
    data, entries = data_of(LAYOUT, suite), _longbench_v2_entries(suite)
    entry, own = entries[cell.needle], family_options(suite, DataOptions)
    question, text = question_of(entry), data.text(entry.number)
    context, asked = Document(text.strip(), "ends", "none" if own.data_cut == "none" else "exact"), question.asked
    if own.data_cut == "compat":
        filled, asked = as_authors_fill(text, question)
        context = Document(filled, truncation="never", most=own.data_window)
    return Question(
        needles=(),
        depths=(),
        question=asked,
        answer=f"The correct answer is ({question.answer}).",
        reference=_reference(entries, entry, question, text) | told_of(LAYOUT, suite),
        context=context if book == "open" else Document(""),
        search=Search(
            texts=((label_of(entry), text),),
            query=question.text,
            answer=question.choices[LETTERS.index(question.answer)],
        ),
    )


def _reference(
    entries: dict[str, RowSummary], entry: RowSummary, question: ChoiceQuestion, document: str
) -> dict[str, Any]:
    answers = Counter(str(each.row["answer"]).strip() for each in entries.values())
    return {
        "answers": (question.answer,),
        "question": question.text,
        "language": "en",
        "chance": 1 / len(LETTERS),
        "floor": max(answers.values()) / len(entries),
        "sample": crc32(document.encode("utf-8", "surrogatepass")),  # questions on one document go together
        **groups_of(entry.row),
    }


def _task(name: str, about: str, book: Book) -> Task:
    return Task(
        name,
        about,
        lambda suite: tuple(_longbench_v2_entries(suite)),
        no_depths,
        partial(_longbench_v2_ask, book),
        family=FAMILY,
        scorer="longbench_v2",
        version=1,
        absent=False,
        focused=False,
        corpus=partial(corpus_of, LAYOUT),
        check=_CHECK,
        facts=partial(facts_of, LAYOUT),
        retrieves=book == "open",
        rows=True,
    )


LAYOUT = DataSetLayout(
    name="LongBench v2",
    columns=("_id", "question", "answer", "context"),
    text="context",
    hub="zai-org/LongBench-v2",
)


_CHECK = partial(check_rows, LAYOUT)


def label_of(entry: RowSummary) -> str:
    """`q66ebc...` of a row's `_id`."""
    return f"q{slug(str(entry.row['_id'])).replace('-', '_')}"


LETTERS = "ABCD"


def groups_of(row: Mapping[str, Any]) -> dict[str, str]:
    """What the authors' table tells apart, where a row has it: `difficulty`, `length_class` and `domain`."""
    names = {"difficulty": "difficulty", "length_class": "length", "domain": "domain"}
    return {name: str(row[column]) for name, column in names.items() if row.get(column)}


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """A question with its choices, A to D, and the letter of the right one."""

    text: str
    choices: tuple[str, ...]
    answer: str

    @property
    def asked(self) -> str:
        """The question and its choices as the authors' prompt has them."""
        listed = "\n".join(f"({letter}) {choice}" for letter, choice in zip(LETTERS, self.choices, strict=True))
        return f"{self.text}\nChoices:\n{listed}"


def question_of(entry: RowSummary) -> ChoiceQuestion:
    """The question of a row; its choices are columns, or a list (recursal's copy). Raises `InputError`."""
    row = entry.row
    choices = row.get("choices") or [row.get(f"{_CHOICE}{letter}") for letter in LETTERS]
    texts = (row["question"], row["answer"], *choices)
    if len(choices) != len(LETTERS) or not all(isinstance(text, str) for text in texts):
        remedy = "needs texts question, answer and choice_A to choice_D (or a list of four, choices)"
        raise InputError(OPTION, f"row {entry.number + 1}", remedy)
    if row["answer"].strip() not in LETTERS:
        raise InputError(OPTION, f"row {entry.number + 1}", "its answer is none of A, B, C, D")
    return ChoiceQuestion(row["question"].strip(), tuple(choice.strip() for choice in choices), row["answer"].strip())


_CHOICE = "choice_"


def as_authors_fill(document: str, question: ChoiceQuestion) -> tuple[str, str]:
    """Document and question as the authors' code fills them in: one after the other, by plain replacement.

    A document that holds `$Q$` or `$C_A$` then has question and choices in it, too.
    """
    names = ["$Q$", *(f"$C_{letter}$" for letter in LETTERS)]
    texts = [question.text, *question.choices]
    filled = document.strip()
    for name, text in zip(names, texts, strict=True):
        filled = filled.replace(name, text)
    asked = ChoiceQuestion("$Q$", tuple(names[1:]), question.answer).asked
    for name, text in zip(names, texts, strict=True):
        asked = asked.replace(name, text)
    return filled, asked


LONGBENCH_V2_TASKS = (
    _task("longbench_v2", "LongBench v2: four choices on a whole document", "open"),
    _task("longbench_v2_closed_book", "LongBench v2 without the document: what the model knew before", "closed"),
)
