"""LongBench v2 on the user's copy of the data: four choices on a whole document (THUDM/LongBench 2e00731).

A document that is too long loses its middle, to the token, while question and template stay whole (`--data-cut exact`).
`compat` cuts the whole prompt as the authors do. The closed-book task asks without the document: what it scores above
chance the model knew before.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, partial
from typing import Any, Literal
from zlib import crc32

from needlework.haystack_fixtures.documents.data_sets.chosen import chosen
from needlework.haystack_fixtures.documents.data_sets.data_set import DataSet
from needlework.haystack_fixtures.documents.data_sets.layout import Entry
from needlework.haystack_fixtures.documents.data_sets.options import DataOptions
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.document import Document
from needlework.haystack_fixtures.retrieval.found import Search
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.published.longbench_v2_rows import (
    LAYOUT,
    LETTERS,
    Question,
    as_authors_fill,
    groups_of,
    label_of,
    question_of,
)
from needlework.haystack_fixtures.tasks.published.rows import check_rows, corpus_of, data_of, facts_of, told_of
from needlework.haystack_fixtures.tasks.task import Asked, Task, no_depths

FAMILY = "longbench_v2"
Book = Literal["open", "closed"]


def _entries(suite: Suite) -> dict[str, Entry]:
    return _chosen(data_of(LAYOUT, suite), own_of(suite, DataOptions))


@lru_cache(4)
def _chosen(data: DataSet, own: DataOptions) -> dict[str, Entry]:
    def group(entry: Entry) -> object:
        return entry.row.get("difficulty"), entry.row.get("length")

    return {label_of(entry): entry for entry in chosen(data, own, group)}


def _ask(book: Book, suite: Suite, cell: Cell, _seed: int) -> Asked:
    data, entries = data_of(LAYOUT, suite), _entries(suite)
    entry, own = entries[cell.needle], own_of(suite, DataOptions)
    question, text = question_of(entry), data.text(entry.number)
    context, asked = Document(text.strip(), "ends", "none" if own.data_cut == "none" else "exact"), question.asked
    if own.data_cut == "compat":
        filled, asked = as_authors_fill(text, question)
        context = Document(filled, truncation="never", most=own.data_window)
    return Asked(
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


def _reference(entries: dict[str, Entry], entry: Entry, question: Question, document: str) -> dict[str, Any]:
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
        lambda suite: tuple(_entries(suite)),
        no_depths,
        partial(_ask, book),
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


_CHECK = partial(check_rows, LAYOUT)
TASKS = (
    _task("longbench_v2", "LongBench v2: four choices on a whole document", "open"),
    _task("longbench_v2_closed_book", "LongBench v2 without the document: what the model knew before", "closed"),
)
