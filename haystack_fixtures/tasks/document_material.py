"""Documents, questions and options of the tasks on own documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.core.draws import draws, shuffled
from needlework.core.errors import InputError
from needlework.core.grid import slug
from needlework.core.settings import Suite
from needlework.haystack_fixtures.documents.questions import (
    GAPS,
    DocumentQuestion,
    QuestionSet,
    gap_questions,
    read_question_set,
)
from needlework.haystack_fixtures.haystacks.builder import occurs
from needlework.haystack_fixtures.haystacks.documents import separator_for

if TYPE_CHECKING:
    from needlework.haystack_fixtures.documents.near_copies import DocumentSimilarity
    from needlework.haystack_fixtures.documents.readers import DocumentSet


DOCUMENTS, QUESTIONS = "--documents", "--questions"
# What ends a label says which arm or control it is, and in which language.
_MEANT = re.compile(r"_(absent|near|focused|bm25|dense|none|zh)\Z")


@dataclass(frozen=True, slots=True)
class QuestionInSet:
    """A question with the numbers of its documents."""

    question: DocumentQuestion
    gold: tuple[int, ...]  # the one that answers it, then the supporting ones
    barred: frozenset[int]  # never beside them: twins, and whatever has one's text in it


@dataclass(frozen=True, eq=False)
class Material:
    """Documents and questions of a run."""

    documents: DocumentSet
    questions: QuestionSet
    names: tuple[str, ...]  # of the documents, by number
    texts: tuple[str, ...] = field(repr=False)
    labels: Mapping[str, DocumentQuestion]
    separator: str  # stands after each document
    twins: Sequence[Sequence[str]]  # groups of names

    def order(self, seed: int, repeat: int) -> tuple[int, ...]:
        """All documents in the order of a repeat, those that a question bears on last.
        Most questions of a run then share a long beginning."""
        draw = draws("documents", seed, repeat)
        first = shuffled(draw, [number for number in range(len(self.names)) if number not in self._bearing])
        return (*first, *shuffled(draw, sorted(self._bearing)))

    def nearest(self, entry: QuestionInSet) -> int | None:
        """The document most like the one that answers, of those that do not have an answer's very words."""
        apart, answers = {*entry.gold, *entry.barred}, entry.question.answers
        near = (number for number in self._likeness.nearest(entry.gold[0]) if number not in apart)
        return next((at for at in near if not any(occurs(answer, self.texts[at]) for answer in answers)), None)

    def alike(self, numbers: Sequence[int]) -> frozenset[int]:
        """Other documents that are copies of these, or have one's whole text in them."""
        group = self._groups
        copies = {other for each in numbers for other in group.get(each, ())}
        copies |= {at for at, text in enumerate(self.texts) if any(self.texts[each] in text for each in numbers)}
        return frozenset(copies - set(numbers))

    @cached_property
    def _groups(self) -> Mapping[int, frozenset[int]]:
        number = {name: at for at, name in enumerate(self.names)}
        return {number[name]: frozenset(map(number.__getitem__, names)) for names in self.twins for name in names}

    @cached_property
    def _likeness(self) -> DocumentSimilarity:
        from needlework.haystack_fixtures.documents.near_copies import DocumentSimilarity

        return DocumentSimilarity(self.texts)

    @cached_property
    def by_label(self) -> Mapping[str, QuestionInSet]:
        """The questions by their labels."""
        number = {name: at for at, name in enumerate(self.names)}
        questions = {}
        for label, question in self.labels.items():
            gold = tuple(dict.fromkeys(number[name] for name in (question.document, *question.supporting)))
            questions[label] = QuestionInSet(question, gold, self.alike(gold))
        return questions

    @cached_property
    def _bearing(self) -> frozenset[int]:
        return frozenset(at for question in self.by_label.values() for at in (*question.gold, *question.barred))


def material_of(suite: Suite) -> Material:
    """The suite's documents and questions, as of the last look at the files. Raises `InputError`.

    Without a file of questions, those are asked that need none: sentences of the documents with a gap.
    """
    if suite.documents is None:
        remedy = f"{suite.task} asks about documents of yours: name their folder, {DOCUMENTS} DIR"
        raise InputError(DOCUMENTS, "", remedy)
    # A folder may be named from where one stands.
    return _current_material(suite.documents, suite.questions, Path.cwd())


def look_again() -> None:
    """Have files looked at anew. A walk through a large folder would take longer than a prompt."""
    _current_material.cache_clear()


@lru_cache(4)
def _current_material(folder: str, path: str | None, _here: Path) -> Material:
    from needlework.haystack_fixtures.documents.readers import read_documents

    return _material(folder, path, read_documents(folder).sha256, read_question_set(path).sha256 if path else "")


@lru_cache(2)
def _material(folder: str, path: str | None, _documents: str, _questions: str) -> Material:
    # What reads files of all kinds is loaded for runs on documents alone.
    from needlework.haystack_fixtures.documents.near_copies import twins
    from needlework.haystack_fixtures.documents.readers import read_documents

    documents = read_documents(folder)
    groups = twins(documents.documents)
    questions = read_question_set(path) if path else gap_questions(documents, groups)
    if not questions.questions:
        remedy = "has no sentence to make a question of: have a model write them (needlework questions make)"
        raise InputError(DOCUMENTS, folder, remedy)
    named = [_named(documents, question, folder, path or GAPS) for question in questions.questions]
    texts = tuple(each.text.strip() for each in documents.documents)
    return Material(
        documents=documents,
        questions=questions,
        names=tuple(each.name for each in documents.documents),
        texts=texts,
        labels=_labelled(named),
        separator=separator_for(texts),
        twins=groups,
    )


def _named(documents: DocumentSet, question: DocumentQuestion, folder: str, path: str) -> DocumentQuestion:
    """The question with its documents' full names."""
    names = []
    for name in (question.document, *question.supporting):
        document = documents.named(name)
        if document is None:
            remedy = f"question {question.key} names {name!r}: {DOCUMENTS} {folder} has not one document of that name"
            raise InputError(QUESTIONS, path, remedy)
        names.append(document.name)
    return replace(question, document=names[0], supporting=tuple(names[1:]))


def _labelled(questions: Sequence[DocumentQuestion]) -> dict[str, DocumentQuestion]:
    """Questions by labels that are safe in ids: `q0`, from their keys."""
    labelled: dict[str, DocumentQuestion] = {}
    for question in questions:
        word = slug(question.key)
        label = f"q{_MEANT.sub(lambda end: f'{end[0]}_', word)}"
        while label in labelled:
            label += "_again"
        labelled[label] = question
    return labelled


def question_label(label: str) -> str:
    """The label of a question without its arm, control, retriever and language: `q3` of `q3_zh_absent`."""
    while (shorter := _MEANT.sub("", label)) != label:
        label = shorter
    return label
