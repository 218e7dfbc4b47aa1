"""What is found about a pair of question and answer, and what follows: accept, review or reject, with reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from needlework.haystack_fixtures.documents.folder import DocumentSet
from needlework.haystack_fixtures.documents.questions import DocumentQuestion, Rows, question_of
from needlework.results.questions.index import DocumentIndex
from needlework.results.questions.kept import has_changed
from needlework.results.questions.pairs import too_long
from needlework.results.questions.rivals import rivals
from needlework.scoring.answers.normalize import normalize_value

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
