"""Which other documents might answer a question too, and why they are shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from needlework.results.questions.index import DocumentIndex
from needlework.results.web.editing.questions.places import answer_pattern

_MOST_HOLDERS = 6
_LIKE = 3


@dataclass(frozen=True, slots=True)
class Competitor:
    """`number` of the document. `why`: "check" (questions check named it), "answer" (it says the answer), "like"."""

    number: int
    why: str
    shared: int
    words: int


@dataclass(frozen=True, slots=True)
class Competitors:
    """The listed ones, the most telling first; `holders`: how many others say the answer, listed or not."""

    listed: tuple[Competitor, ...]
    holders: int


def competitors(
    index: DocumentIndex,
    question: str,
    answers: Sequence[str],
    *,
    own: Collection[int],
    named: Sequence[int],
) -> Competitors:
    """Other documents than the pair's `own`: the answer's, its twins, supporting ones. `named`: by the check, first."""
    like = {each.number: each for each in index.likeness(question)}
    ranks = {number: rank for rank, number in enumerate(like)}
    holders = [each for each in holding(index, answers) if each not in own]
    reasons = {number: "check" for number in named if number not in own}
    for number in sorted(holders, key=lambda each: ranks.get(each, len(ranks)))[:_MOST_HOLDERS]:
        reasons.setdefault(number, "answer")
    for number in [each for each in like if each not in own and each not in reasons][:_LIKE]:
        reasons[number] = "like"
    words = next(iter(like.values())).words if like else 0
    listed = tuple(
        Competitor(number, why, like[number].shared if number in like else 0, words) for number, why in reasons.items()
    )
    return Competitors(listed, len(holders))


def holding(index: DocumentIndex, answers: Sequence[str]) -> list[int]:
    """The documents that say one of the answers in the same words (`places.literal_places`)."""
    found: set[int] = set()
    for answer in answers:
        wanted = answer_pattern((answer,))
        if wanted is not None:
            found.update(each for each in index.having(answer) if wanted.search(index.documents[each].text))
    return sorted(found)
