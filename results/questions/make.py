"""Which documents are asked about, in what words, and the rows of a question file that come of the replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from needlework.haystack_fixtures.documents.folder import DocumentSet, OwnDocument
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.questions import Rows
from needlework.haystack_fixtures.draws import draws, sample
from needlework.results.judging.asking import Judge, Question, Replied, key_of
from needlework.results.questions.kept import Kept, kept_of
from needlework.results.questions.pairs import read_pairs
from needlework.results.questions.templates import Template


@dataclass(frozen=True, slots=True)
class Chosen:
    """The documents that are asked about, in their order. `twins`: groups of names; only the first of each may be.
    `kept`: the questions that are there already.
    """

    documents: tuple[OwnDocument, ...]
    twins: tuple[tuple[str, ...], ...]
    kept: Kept


@dataclass(frozen=True, slots=True)
class Wanted:
    """The question to the model about one document. `shortened`: the window has no room for all of it."""

    document: str
    question: Question
    shortened: bool


@dataclass(frozen=True, slots=True)
class Made:
    """The new rows of the file, and the documents that have none: (name, why)."""

    rows: tuple[Mapping[str, Any], ...]
    failed: tuple[tuple[str, str], ...]


def choose(found: DocumentSet, before: Rows, limit: int | None, seed: int) -> Chosen:
    """Take all documents but the twins of earlier ones: a question about one of two has two right places.

    `before`: rows of the file as it is; their documents are not asked about again. `limit`: only so many, drawn with
    the seed; those that have a question count.
    """
    groups = twins(found.documents)
    kept = kept_of(before, found, groups)
    later = {name for group in groups for name in group[1:]}
    documents = [each for each in found.documents if each.name not in later]
    if limit is not None and limit < len(documents):
        drawn = {each.name for each in sample(draws("questions make", seed), documents, limit)}
        documents = [each for each in documents if each.name in drawn]
    new = [each for each in documents if each.name not in kept.names]
    return Chosen(tuple(new if limit is None else new[: max(0, limit - kept.asked)]), groups, kept)


def wanted(document: OwnDocument, template: Template, count: int, model: Judge) -> Wanted:
    """Return the question to the model about one document. Raises `InputError`."""
    around = "".join(template.render("", count))
    text = model.shortened(document.text, around)
    system, user = template.render(text, count)
    about = {"model": model.identity.get("spec"), "document": document.name}
    return Wanted(document.name, Question(key_of(model, system, user), system, user, about), text != document.text)


def correction(question: Question, _reply: str, problem: str) -> str:
    """What is sent after a reply that cannot be used."""
    return f"{question.user}\n\nA reply to this could not be used: {problem}. Reply with the JSON alone."


def made(asked: Sequence[Wanted], known: Mapping[str, Replied], count: int) -> Made:
    """Return the rows in the order of the documents; a document without a usable reply is a failed one."""
    rows: list[Mapping[str, Any]] = []
    failed = []
    for each in asked:
        replied = known.get(each.question.key)
        if replied is None or replied.problem or not replied.replies:
            failed.append((each.document, replied.problem if replied else "not asked"))
            continue
        try:
            pairs = read_pairs(replied.replies[-1], count)
        except ValueError as error:
            failed.append((each.document, str(error)))
            continue
        for pair in pairs:
            row: dict[str, Any] = {"question": pair.question, "answer": pair.answer, "answer_doc": each.document}
            rows.append(row | ({"aliases": list(pair.aliases)} if pair.aliases else {}))
    return Made(tuple(rows), tuple(failed))
