"""What models say about a pair: who knows the answer without the document, and which documents answer the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from needlework.haystack_fixtures.documents.folder import DocumentSet
from needlework.haystack_fixtures.documents.questions import DocumentQuestion
from needlework.results.judging.asking import Judge, Question, Replied, key_of
from needlework.results.questions.check import Checked, Reason
from needlework.results.questions.index import DocumentIndex
from needlework.results.questions.pairs import json_values
from needlework.results.questions.rivals import nearest
from needlework.scoring.scorers.documents import documents_score
from needlework.scoring.scores import Reference

OTHERS = 3  # documents nearest to a question that a checker is shown beside its own
_LONGEST = 200  # characters of a reply that the file of questions keeps
_CLOSED_BOOK = (
    "You answer questions from what you know. Give the answer alone, in a few words. If you do not know it, say that "
    "you do not know; do not guess."
)
_CHECKER = (
    "You are given one document and one question, and find out whether that document answers the question. You use "
    "nothing but the document. You reply with JSON and nothing else."
)
_CHECKED = """<document>
{document}
</document>

Question: {question}

The document answers it only if it states the answer for exactly what the question asks about. Reply with
{{"answerable": true or false, "answer": "the answer in a few words, or nothing"}}"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the checker about one document. `own`: it is the pair's own."""

    document: str
    own: bool
    question: Question


def closed_book_question(pair: DocumentQuestion, model: Judge) -> Question:
    """The pair's question alone."""
    about = {"model": model.identity.get("spec"), "probe": "closed book", "item": pair.key}
    return Question(key_of(model, _CLOSED_BOOK, pair.question), _CLOSED_BOOK, pair.question, about)


def read_answer(reply: str) -> str:
    """A reply that says anything. Raises `ValueError`."""
    if not reply.strip():
        raise ValueError("it is empty")
    return reply.strip()


def with_closed_book(each: Checked, model: Judge, known: Mapping[str, Replied]) -> Checked:
    """The pair with what the model said to its question alone; right, it is known without the document."""
    pair = each.question
    if pair is None:
        return each
    replied = known.get(closed_book_question(pair, model).key)
    if replied is None or replied.problem or not replied.replies:
        return _more(each, {}, Reason("review", "not probed", replied.problem if replied else "no reply"))
    answer = replied.replies[-1].strip()
    right = documents_score(answer, Reference(pair.answers, question=pair.question)).value == 1
    facts = {"closed_book": {"model": model.identity.get("spec"), "known": right, "answer": answer[:_LONGEST]}}
    reasons = [Reason("reject", "known without the document", f"asked alone, the model says {answer[:_LONGEST]!r}")]
    return _more(each, facts, *(reasons if right else []))


def checker_questions(each: Checked, found: DocumentSet, index: DocumentIndex, model: Judge) -> list[Asked]:
    """The question with its own document, and with the other documents that are nearest to it.

    Raises `InputError` where the checker's window has no room for a document.
    """
    pair = each.question
    own = found.named(pair.document) if pair else None
    if pair is None or own is None:
        return []
    others = nearest(index, pair.question, each.own, OTHERS)
    return [_asked(pair, name, name == own.name, found, model) for name in (own.name, *others)]


def _asked(pair: DocumentQuestion, name: str, own: bool, found: DocumentSet, model: Judge) -> Asked:
    document = found.named(name)
    assert document is not None
    around = _CHECKER + _CHECKED.format(document="", question=pair.question)
    text = model.shortened(document.text, around)
    user = _CHECKED.format(document=text, question=pair.question)
    about = {"model": model.identity.get("spec"), "probe": "document", "item": pair.key, "document": name}
    return Asked(name, own, Question(key_of(model, _CHECKER, user), _CHECKER, user, about))


def read_verdict(reply: str) -> str | None:
    """The answer that the document has by a checker's reply; `None` where it has none. Raises `ValueError`."""
    for value in json_values(reply):
        if isinstance(value, dict) and isinstance(value.get("answerable"), bool):
            return str(value.get("answer") or "") if value["answerable"] else None
    raise ValueError('there is no JSON like {"answerable": true, "answer": "..."} in it')


def with_checker(each: Checked, asked: Sequence[Asked], model: Judge, known: Mapping[str, Replied]) -> Checked:
    """The pair with what the checker said of each document."""
    pair = each.question
    if pair is None or not asked:
        return each
    reasons, said = [], []
    for one in asked:
        replied = known.get(one.question.key)
        if replied is None or replied.problem or not replied.replies:
            reasons.append(Reason("review", "not checked", replied.problem if replied else "no reply"))
            continue
        answer = read_verdict(replied.replies[-1])
        said.append({"document": one.document, "answer": None if answer is None else answer[:_LONGEST]})
        reasons += _of_own(pair, answer) if one.own else _of_another(one.document, answer)
    return _more(each, {"checker": {"model": model.identity.get("spec"), "documents": said}}, *reasons)


def _of_own(pair: DocumentQuestion, answer: str | None) -> list[Reason]:
    if answer is None:
        return [Reason("reject", "not answerable from its document", "says the checker")]
    if documents_score(answer, Reference(pair.answers, question=pair.question)).value == 1:
        return []
    return [Reason("review", "another answer", f"the checker answers {answer[:_LONGEST]!r} from the document")]


def _of_another(name: str, answer: str | None) -> list[Reason]:
    if answer is None:
        return []
    return [Reason("review", "answered by another document", f"the checker finds {answer[:_LONGEST]!r} in {name!r}")]


def _more(each: Checked, facts: Mapping[str, Any], *reasons: Reason) -> Checked:
    return replace(each, facts={**each.facts, **facts}, reasons=(*each.reasons, *reasons))
