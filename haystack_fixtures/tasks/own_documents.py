"""Questions about the user's own documents: the files of a run, and its trials."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from needlework.core.draws import draws, shuffled
from needlework.core.errors import InputError, printable
from needlework.core.grid import Cell, slug
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.documents.questions import (
    GAPS,
    DocumentQuestion,
    QuestionSet,
    gap_questions,
    read_question_set,
)
from needlework.haystack_fixtures.haystacks.builder import occurs
from needlework.haystack_fixtures.haystacks.documents import OtherDocuments, separator_for
from needlework.haystack_fixtures.retrieval.search import Search
from needlework.haystack_fixtures.tasks.arms import NOT_FOUND
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task, without_language

if TYPE_CHECKING:
    from needlework.haystack_fixtures.documents.near_copies import DocumentSimilarity
    from needlework.haystack_fixtures.documents.readers import DocumentSet

DOCUMENTS, QUESTIONS = "--documents", "--questions"
# The end of a label: its arm or control, and language.
_ENDING = re.compile(r"_(absent|near|focused|bm25|dense|none|zh)\Z")


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


@lru_cache(4)  # a walk through a large folder would take longer than a prompt
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
        label = f"q{_ENDING.sub(lambda end: f'{end[0]}_', word)}"
        while label in labelled:
            label += "_again"
        labelled[label] = question
    return labelled


def question_label(label: str) -> str:
    """The label of a question without its arm, control, retriever and language: `q3` of `q3_zh_absent`."""
    while (shorter := _ENDING.sub("", label)) != label:
        label = shorter
    return label


# The documents of a prompt are whole, but for the last of the others; they follow one another in an order that seed and
# repeat alone choose, the same for every question, task, length and depth. A document that supports the answer stands
# beside the one that has it: so a depth is where all is that the answer rests on.
SIZE, ABSENT = "doc_size", "doc_absent"
ARMS = ("absent", "near")
_SHOWN, _LONGEST = 3, 80  # files that are named where not all are, and characters of a name
SHARES = (25, 50, 75, 100)
_INSTRUCTION = {
    "en": "Answer from the documents alone, in a few words. If they do not say, reply exactly: NOT FOUND.",
    "zh": "请只根据上面的文档，用几个字回答。如果文档中没有提到，请只回答：没有提到。",
}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(label, suite) for label in material_of(suite).labels)


def _absent_labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(f"{label}_{arm}", suite) for label in material_of(suite).labels for arm in ARMS)


def _sizes(suite: Suite, _label: str) -> tuple[int, ...]:
    """Shares of each length, in whole tokens."""
    return tuple(sorted({(length * share + 50) // 100 for length in suite.lengths for share in SHARES}))


def _corpus(suite: Suite) -> Corpus:
    material, folder = material_of(suite), suite.documents
    return Corpus(
        name=f"documents of {folder}",
        language=suite.language,
        licence="the user's own",
        source=str(folder),
        documents=material.texts,
        sha256=material.documents.sha256,
    )


def _reach(suite: Suite, counts: Sequence[int]) -> int:
    """Tokens of the documents that a question's context may have; of the question with the fewest."""
    material = material_of(suite)
    fewest = sum(counts)
    for entry in material.by_label.values():
        apart = {*entry.barred, *(entry.gold if suite.task == ABSENT else ())}
        near = material.nearest(entry) if suite.task == ABSENT else None
        apart |= material.alike([near]) if near is not None else set()
        fewest = min(fewest, sum(counts) - sum(counts[number] for number in apart))
    return fewest


def _check(suites: Sequence[Suite]) -> None:
    """Look at the files, and report in one line what keeps a run's suites from being asked."""
    _current_material.cache_clear()
    for suite in suites:
        material_of(suite)


def _facts(suite: Suite) -> dict[str, dict[str, Any]]:
    """The questions' file, and what of the folder is no document."""
    documents, questions = material_of(suite).documents, material_of(suite).questions
    facts = {"sha256": questions.sha256, "questions": len(questions.questions), "reviewed": questions.reviewed}
    return {"questions": {suite.questions or GAPS: facts}, "left_out_documents": dict(documents.left_out)}


def _notes(suite: Suite, every: bool) -> Sequence[str]:
    """Files of the folder that are no documents, though they should be. `every`: all that are none."""
    material, folder = material_of(suite), suite.documents
    documents = material.documents
    left_out = documents.left_out if every else documents.missed[:_SHOWN]
    shown = [f"{printable(repr(name), _LONGEST)}: {reason}" for name, reason in left_out]
    more = len(documents.left_out) - len(shown)
    rest = f"; {more} more (-v lists all)" if more else ""
    read = f"{DOCUMENTS} {folder}: {len(material.names)} documents are read, not"
    return [f"{read} {'; '.join(shown)}{rest}"] if shown else []


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    material, language = material_of(suite), suite.language
    label, arm, facts = without_language(cell.needle, suite), "present", dict[str, Any]()
    if cell.task == ABSENT:
        label, _, arm = label.rpartition("_")
        # Who always abstains is always right here.
        facts = {"answers": (NOT_FOUND[language],), "absent": True, "twin": labelled(label, suite), "floor": 1.0}
    entry = material.by_label[label]
    question, inside = entry.question, {"present": entry.gold}.get(arm, ())
    if arm == "near":
        inside = (_near_miss(suite, label),)
        facts["near_document"] = material.names[inside[0]]
    # No copy of a placed document stands beside it, be it the one asked about or a near miss.
    apart = {*entry.gold, *entry.barred, *inside, *material.alike(inside)}
    order = tuple(number for number in material.order(seed, cell.repeat) if number not in apart)
    # What a trial's key has to know beside its needles: documents in their order, and right answers.
    content = [material.documents.sha256, order, question.answers, question.document, question.supporting]
    reference = {
        "answers": question.answers,
        "question": question.question,
        "language": language,
        "document": question.document,
        "chance": 0.0,
        "arm": arm,
        **facts,
    }
    return Question(
        needles=tuple(
            Needle(
                name=material.names[number],
                text=material.texts[number],
                question=question.question,
                answer=question.answers[0] if number == entry.gold[0] else "",
            )
            for number in inside
        ),
        depths=(suite.depths[0] if cell.depth is None else cell.depth,) * len(inside),
        question=f"{question.question}{'' if language == 'zh' else ' '}{_INSTRUCTION[language]}",
        answer=reference["answers"][0],
        reference=reference,
        needed=tuple(range(len(inside))),
        context=OtherDocuments(
            order, material.names, material.separator, f"question {label} about {question.document!r}"
        ),
        abstains=True,
        material=sha256(json.dumps(content).encode("utf-8", "surrogatepass")).hexdigest(),
        search=Search((), question.question, gold=question.document, answer=question.answers[0]),
    )


def _near_miss(suite: Suite, label: str) -> int:
    """The document that is like the one with the answer. Raises `InputError` where there is none."""
    material = material_of(suite)
    number = material.nearest(material.by_label[label])
    if number is None:
        raise InputError(DOCUMENTS, suite.documents, f"has no other document without the answer to question {label}")
    return number


_task = partial(our_task, corpus=_corpus, check=_check, facts=_facts, reach=_reach, notes=_notes)
TASKS = (
    _task("doc_position", _ask, labels=_labels),
    _task(SIZE, _ask, labels=_labels, lengths=_sizes),
    _task(ABSENT, _ask, labels=_absent_labels),
)


_ORDERED = "doc_"  # tasks whose repeats are orders of documents
_FEWEST = 3


def with_votes(suites: tuple[Suite, ...]) -> tuple[Suite, ...]:
    """The suites with as many orders of documents as vote; more stay more. Raises `InputError`."""
    vote = suites[0].vote
    if not vote:
        return suites
    if vote < _FEWEST:
        raise InputError("--vote", vote, f"of two answers neither is more like the others: give {_FEWEST} or more")
    if not any(suite.task.startswith(_ORDERED) for suite in suites):
        raise InputError("--vote", vote, "is for questions over orders of documents: use --preset own-documents")
    return tuple(
        structs.replace(suite, repeats=max(suite.repeats, vote)) if suite.task.startswith(_ORDERED) else suite
        for suite in suites
    )
