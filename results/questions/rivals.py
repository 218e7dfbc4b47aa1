"""Other documents that could be taken for a question's."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from needlework.results.questions.index import DocumentIndex
from needlework.scoring.answers.normalize import normalize, normalize_value
from needlework.scoring.answers.values import find_whole

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
