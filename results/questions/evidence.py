"""Whether a document supports the answer of a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import log
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from needlework.haystack_fixtures.documents.questions import DocumentQuestion, Rows, question_of
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument
from needlework.results.questions.make import is_made_from_another_text, too_long
from needlework.results.style import first_few
from needlework.scoring.plain_text import content_words, find_whole, normalize, normalize_value, words_to_look_up

Status = Literal["accept", "review", "reject"]
SUPPORT = 0.6  # of the answer's content words: what stands in its document at least
ORDER: tuple[Status, ...] = ("accept", "review", "reject")


class Reason(Struct, frozen=True):
    """A reason not to accept a question. `kind`: what is counted. `detail`: of this question."""

    status: Status
    kind: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


class CheckedQuestion(Struct, frozen=True):
    """One row of the file of questions."""

    key: str
    question: DocumentQuestion | None = None  # none where it cannot be asked
    documents: frozenset[str] = frozenset()  # its own, the supporting ones, and their twins
    reasons: tuple[Reason, ...] = ()
    facts: Mapping[str, Any] = {}  # fields of the row beside status and reasons

    @property
    def status(self) -> Status:
        """The worst status of its reasons."""
        return max((reason.status for reason in self.reasons), key=ORDER.index, default="accept")

    def with_more(self, facts: Mapping[str, Any], *reasons: Reason) -> CheckedQuestion:
        """A copy with further facts and reasons."""
        return replace(self, facts={**self.facts, **facts}, reasons=(*self.reasons, *reasons))


def check_rows(
    rows: Rows, folder: DocumentSet, twins: Sequence[Sequence[str]], index: DocumentIndex
) -> list[CheckedQuestion]:
    """Check every row against the documents, without a model."""
    groups = {name: group for group in twins for name in group}
    checked: dict[str, CheckedQuestion] = {}
    same: dict[str, list[CheckedQuestion]] = defaultdict(list)  # by the words of the question
    for key, row in rows.items():
        try:
            question = question_of(key, row)
        except ValueError as error:
            checked[key] = CheckedQuestion(key, reasons=(Reason("reject", "nothing to ask", str(error)),))
            continue
        checked[key] = _check(question, folder, groups, index)
        same[normalize_value(question.question)].append(checked[key])
    for group in same.values():
        for number, question_row in enumerate(group):
            checked[question_row.key] = question_row.with_more({}, *_of_equal_questions(number, group))
    return list(checked.values())


def _check(
    question: DocumentQuestion, folder: DocumentSet, groups: Mapping[str, Sequence[str]], index: DocumentIndex
) -> CheckedQuestion:
    document = folder.named(question.document)
    if document is None:
        reason = Reason("reject", "no such document", f"{question.document!r} is not in the folder, or names several")
        return CheckedQuestion(question.key, question, reasons=(reason,))
    reasons = []
    names = [document.name]
    if is_made_from_another_text(question.extra, document):
        reasons.append(Reason("review", "document has changed", "since its question was made"))
    for name in question.supporting:
        supporting = folder.named(name)
        if supporting is None:
            reasons.append(Reason("review", "no such supporting document", repr(name)))
        else:
            names.append(supporting.name)
    documents = frozenset(twin for name in names for twin in groups.get(name, (name,)))
    support = index.support(question.answers, [index.numbers[name] for name in names])
    if support == 0:
        reasons.append(Reason("reject", "not supported", f"no word of the answer stands in {document.name!r}"))
    elif support < SUPPORT:
        detail = f"{support:.0%} of the answer's words stand in {document.name!r}, fewer than {SUPPORT:.0%}"
        reasons.append(Reason("review", "hardly supported", detail))
    if long := too_long(question.answers[0]):
        reasons.append(Reason("review", "answer too long", long))
    others = rivals(index, question.question, question.answers, documents)
    if others:
        shown = first_few(list(map(repr, others)))
        reasons.append(Reason("review", "ambiguous", f"the answer stands beside the question's words in {shown} too"))
    also = [name for name in groups.get(document.name, ()) if name != document.name]
    facts: dict[str, Any] = {"support": round(support, 4), "also_in": others} | ({"twins": also} if also else {})
    return CheckedQuestion(question.key, question, documents, tuple(reasons), facts)


def _of_equal_questions(number: int, group: Sequence[CheckedQuestion]) -> list[Reason]:
    """Reasons from the others of a group with the same question."""
    documents = group[number].documents
    earlier = next((row for row in group[:number] if row.documents & documents), None)
    if earlier:
        return [Reason("reject", "asked twice", f"the same question about the same document is {earlier.key!r}")]
    others = [row.key for row in group if row.documents and not row.documents & documents]
    if not others or not documents:
        return []
    return [Reason("review", "asked of other documents", f"the same question is {first_few(list(map(repr, others)))}")]


SHARED = 0.5  # of a question's content words: what another document has at least, to be taken for its answer


def rivals(index: DocumentIndex, question: str, answers: Sequence[str], excluded: Collection[str]) -> list[str]:
    """Documents, without `excluded`, that could be taken for the question's: most alike first.

    Such a document has one of the answers in the same words (case, quotes, digits' commas aside), and at least
    `SHARED` of the question's content words.
    """
    shares = index.likeness(question)
    like: dict[str, float] = {}
    for answer in answers:
        value = normalize_value(answer)
        for number in index.having(answer):
            document, share = index.documents[number], shares.get(number, 0.0)
            if document.name in excluded or document.name in like or share < SHARED:
                continue
            if find_whole(normalize(document.text), value):
                like[document.name] = share
    return sorted(like, key=lambda name: (-like[name], name))


def nearest(index: DocumentIndex, question: str, excluded: Collection[str], count: int) -> list[str]:
    """The documents, without `excluded`, most like a question; rare words count for more."""
    names = (index.documents[number].name for number in index.likeness(question))
    return [name for name in names if name not in excluded][:count]


_Numbers = NDArray[np.int32]
_NONE: _Numbers = np.empty(0, np.int32)


class DocumentIndex:
    """Documents are numbers here: their places in `documents`. `numbers`: by name."""

    def __init__(self, documents: Sequence[OwnDocument]) -> None:
        self.documents = tuple(documents)
        self.numbers = {document.name: number for number, document in enumerate(self.documents)}
        holders: dict[str, list[int]] = defaultdict(list)
        for number, document in enumerate(self.documents):
            for word in words_to_look_up(document.text):
                holders[word].append(number)
        self._holders = {word: np.array(numbers, np.int32) for word, numbers in holders.items()}

    def support(self, answers: Sequence[str], numbers: Sequence[int]) -> float:
        """The share (0..1) of an answer's content words in these documents together; the best answer's."""
        shares = [
            sum(bool(np.isin(numbers, self._holders.get(word, _NONE)).any()) for word in words) / len(words)
            for answer in answers
            if (words := content_words(answer))
        ]
        return max(shares, default=0.0)

    def having(self, answer: str) -> list[int]:
        """The documents that have all content words of an answer, so all that say it in the same words.

        One Chinese character may stand in a pair, and does not tell: all documents for an answer of such.
        """
        words = [word for word in content_words(answer) if len(word) > 1 or word.isascii()]
        numbers = np.arange(len(self.documents), dtype=np.int32)
        for word in words:
            numbers = np.intersect1d(numbers, self._holders.get(word, _NONE), assume_unique=True)
        listed: list[int] = numbers.tolist()
        return listed

    def likeness(self, question: str) -> dict[int, float]:
        """The share (0..1) of a question's content words that each document has, of those that have one.

        The likest first: rarer words count for more.
        """
        words = sorted(content_words(question))  # in one order, so that equal scores are equal in every process
        scores = np.zeros(len(self.documents))
        shared = np.zeros(len(self.documents), np.int32)
        for word in words:
            holders = self._holders.get(word, _NONE)
            if len(holders):
                scores[holders] += log(1 + len(self.documents) / len(holders))
                shared[holders] += 1
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(shared)]
        return {int(number): int(shared[number]) / len(words) for number in order}
