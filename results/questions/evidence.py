"""Whether a document supports the answer of a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.documents.questions import DocumentQuestion, Rows, question_of
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument
from needlework.results.questions.pairs import has_changed, too_long
from needlework.scoring.content_words import content_words, words_to_look_up
from needlework.scoring.plain_text import find_whole, normalize, normalize_value

Status = Literal["accept", "review", "reject"]
SUPPORT = 0.6  # of the answer's content words: what stands in its document at least
_SHOWN = 3
_ORDER: tuple[Status, ...] = ("accept", "review", "reject")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a pair is not simply accepted. `kind`: what is counted. `told`: of this pair."""

    status: Status
    kind: str
    told: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.told}" if self.told else self.kind


@dataclass(frozen=True, slots=True)
class Checked:
    """One row. `question`: none where it cannot be asked. `own`: its document, the supporting ones, and twins of these.

    `facts`: what is written into the row beside status and reasons.
    """

    key: str
    question: DocumentQuestion | None = None
    own: frozenset[str] = frozenset()
    reasons: tuple[Reason, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """The worst that a reason says."""
        return max((each.status for each in self.reasons), key=_ORDER.index, default="accept")


def check_rows(
    rows: Rows, found: DocumentSet, twins: Sequence[Sequence[str]], index: DocumentIndex, max_other: int
) -> list[Checked]:
    """Check every row against the documents, without a model. `max_other`: rivals that are let pass."""
    groups = {name: group for group in twins for name in group}
    checked: dict[str, Checked] = {}
    same: dict[str, list[Checked]] = defaultdict(list)
    for key, row in rows.items():
        try:
            question = question_of(key, row)
        except ValueError as error:
            checked[key] = Checked(key, reasons=(Reason("reject", "nothing to ask", str(error)),))
            continue
        checked[key] = _check(question, found, groups, index, max_other)
        same[normalize_value(question.question)].append(checked[key])
    for group in same.values():
        for at, each in enumerate(group):
            more = _of_the_same(at, group)
            checked[each.key] = replace(each, reasons=(*each.reasons, *more))
    return list(checked.values())


def _check(
    question: DocumentQuestion,
    found: DocumentSet,
    groups: Mapping[str, Sequence[str]],
    index: DocumentIndex,
    max_other: int,
) -> Checked:
    document = found.named(question.document)
    if document is None:
        reason = Reason("reject", "no such document", f"{question.document!r} is not in the folder, or names several")
        return Checked(question.key, question, reasons=(reason,))
    supporting = [found.named(name) for name in question.supporting]
    names = [document.name, *(each.name for each in supporting if each)]
    own = frozenset(name for each in names for name in groups.get(each, (each,)))
    support = index.support(question.answers, [index.numbers[name] for name in names])
    others = rivals(index, question.question, question.answers, own)
    absent = [name for name, each in zip(question.supporting, supporting, strict=True) if each is None]
    changed = has_changed(question.extra, document)
    reasons = [
        *([Reason("review", "document has changed", "since its question was made")] if changed else []),
        *_of_the_answer(question, document.name, support),
        *_of_others(others, max_other),
        *(Reason("review", "no such supporting document", repr(name)) for name in absent),
    ]
    facts: dict[str, Any] = {"support": round(support, 4), "also_in": others}
    also = [name for name in groups.get(document.name, ()) if name != document.name]
    return Checked(question.key, question, own, tuple(reasons), facts | ({"twins": also} if also else {}))


def _of_the_answer(question: DocumentQuestion, name: str, support: float) -> list[Reason]:
    reasons = []
    if support == 0:
        reasons.append(Reason("reject", "not supported", f"no word of the answer stands in {name!r}"))
    elif support < SUPPORT:
        told = f"{support:.0%} of the answer's words stand in {name!r}, fewer than {SUPPORT:.0%}"
        reasons.append(Reason("review", "hardly supported", told))
    long = too_long(question.answers[0])
    return [*reasons, Reason("review", "answer too long", long)] if long else reasons


def _of_others(others: Sequence[str], max_other: int) -> list[Reason]:
    if len(others) <= max_other:
        return []
    shown = ", ".join(map(repr, others[:_SHOWN])) + (f" and {len(others) - _SHOWN} more" if others[_SHOWN:] else "")
    return [Reason("review", "ambiguous", f"the answer stands beside the question's words in {shown} too")]


def _of_the_same(at: int, group: Sequence[Checked]) -> list[Reason]:
    """What follows from the other pairs of a group whose question is the same."""
    own = group[at].own
    earlier = next((each for each in group[:at] if each.own & own), None)
    if earlier:
        return [Reason("reject", "asked twice", f"the same question about the same document is {earlier.key!r}")]
    others = [each.key for each in group if each.own and not each.own & own]
    if not others or not own:
        return []
    told = ", ".join(map(repr, others[:_SHOWN]))
    return [Reason("review", "asked of other documents", f"the same question is {told}")]


SHARED = 0.5  # of a question's content words: what another document has at least, to be taken for its answer


def rivals(index: DocumentIndex, question: str, answers: Sequence[str], own: Collection[str]) -> list[str]:
    """Documents, but for the `own` ones, that could be taken for the question's: the most alike first.

    Such a document has one of the answers in the same words (case, quotes, digits' commas aside), and at least
    `SHARED` of the question's content words.
    """
    shares = {each.number: each.shared / each.words for each in index.likeness(question)}
    found: dict[str, float] = {}
    for answer in answers:
        value = normalize_value(answer)
        for number in index.having(answer):
            document, share = index.documents[number], shares.get(number, 0.0)
            if document.name in own or document.name in found or share < SHARED:
                continue
            if find_whole(normalize(document.text), value):
                found[document.name] = share
    return sorted(found, key=lambda name: (-found[name], name))


def nearest(index: DocumentIndex, question: str, own: Collection[str], count: int) -> list[str]:
    """The documents, but for the `own` ones, that share most with a question; a rare word counts for more."""
    names = (index.documents[each.number].name for each in index.likeness(question))
    return [name for name in names if name not in own][:count]


_Numbers = NDArray[np.int32]
_NONE: _Numbers = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class QuestionOverlap:
    """How like a question a document is: it has `shared` of the question's `words` content words."""

    number: int
    shared: int
    words: int


class DocumentIndex:
    """Documents are numbers here: their places in `documents`. `numbers`: by name."""

    def __init__(self, documents: Sequence[OwnDocument]) -> None:
        self.documents = tuple(documents)
        self.numbers = {each.name: number for number, each in enumerate(self.documents)}
        holders: dict[str, list[int]] = defaultdict(list)
        for number, each in enumerate(self.documents):
            for word in words_to_look_up(each.text):
                holders[word].append(number)
        self._holders = {word: np.array(numbers, np.int32) for word, numbers in holders.items()}

    def support(self, answers: Sequence[str], numbers: Collection[int]) -> float:
        """The share (0..1) of an answer's content words that stand in these documents together, of the best answer."""
        wanted = list(numbers)
        shares = [
            sum(bool(np.isin(wanted, self._holders.get(word, _NONE)).any()) for word in words) / len(words)
            for answer in answers
            if (words := content_words(answer))
        ]
        return max(shares, default=0.0)

    def having(self, answer: str) -> list[int]:
        """The documents that have all content words of an answer, so all that say it in the same words.

        One Chinese character may stand in a pair, and does not tell: all documents for an answer of such.
        """
        holders = [self._holders.get(word, _NONE) for word in content_words(answer) if len(word) > 1 or word.isascii()]
        if not holders:
            return list(range(len(self.documents)))
        having, *others = sorted(holders, key=len)
        for each in others:
            having = np.intersect1d(having, each, assume_unique=True)
        found: list[int] = having.tolist()
        return found

    def likeness(self, question: str) -> list[QuestionOverlap]:
        """The documents that share content words with a question, the likest first: rarer words count for more."""
        words = content_words(question)
        scores = np.zeros(len(self.documents))
        shared = np.zeros(len(self.documents), np.int32)
        for word in sorted(words):  # in one order, so that equal scores are equal in every process
            holders = self._holders.get(word, _NONE)
            if len(holders):
                scores[holders] += log(1 + len(self.documents) / len(holders))
                shared[holders] += 1
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(shared)]
        return [
            QuestionOverlap(number, count, len(words))
            for number, count in zip(order.tolist(), shared[order].tolist(), strict=True)
        ]
