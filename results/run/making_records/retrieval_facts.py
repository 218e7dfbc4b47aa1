"""How much of an answer was found, where the context was retrieved."""

from __future__ import annotations

from functools import lru_cache

from needlework.scoring.answers.content_words import content_words

_TEXTS_KEPT = 512


def answer_recall(answer: str, searched: list[str], context: str) -> float | None:
    """The share (0..1) of the answer's content words that stand in the context, of those that the searched texts have;
    `None` where they have none."""
    wanted = content_words(answer)
    there = {word for text in searched for word in wanted & _words(text)}
    return round(len(there & content_words(context)) / len(there), 4) if there else None


@lru_cache(_TEXTS_KEPT)
def _words(text: str) -> frozenset[str]:
    """All questions of a document have the same one."""
    return content_words(text)
