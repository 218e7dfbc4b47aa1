"""The documents by their words, made once: which hold an answer, and which are most like a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import log
from threading import Event, Thread
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from haystack_fixtures.documents.folder import OwnDocument
from results.web.reviewing.places import answer_pattern
from results.web.reviewing.words import words_of
from scoring.content_words import content_words

_Numbers = NDArray[np.int32]
_NONE: _Numbers = np.empty(0, np.int32)
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Likeness:
    """How like a question a document is: it has `shared` of the question's `words` content words."""

    number: int
    shared: int
    words: int


class Corpus:
    """Documents are numbers here: their places in the folder's order."""

    def __init__(self, documents: Sequence[OwnDocument]) -> None:
        self._texts = [each.text for each in documents]
        holders: dict[str, list[int]] = {}
        for number, text in enumerate(self._texts):
            for word in words_of(text):
                holders.setdefault(word, []).append(number)
        self._holders = {word: np.array(numbers, np.int32) for word, numbers in holders.items()}

    def holding(self, answers: Sequence[str]) -> list[int]:
        """The documents that say one of the answers in the same words (`places.literal_places`)."""
        found: set[int] = set()
        for answer in answers:
            wanted = answer_pattern((answer,))
            if wanted is not None:
                found.update(each for each in self._having(answer) if wanted.search(self._texts[each]))
        return sorted(found)

    def likeness(self, question: str) -> list[Likeness]:
        """The documents that share content words with a question, the likest first: rarer words count for more."""
        words = content_words(question)
        scores = np.zeros(len(self._texts))
        shared = np.zeros(len(self._texts), np.int32)
        for word in words:
            holders = self._holders.get(word, _NONE)
            if len(holders):
                scores[holders] += log(1 + len(self._texts) / len(holders))
                shared[holders] += 1
        order = np.argsort(-scores, kind="stable")
        return [Likeness(int(each), int(shared[each]), len(words)) for each in order[: np.count_nonzero(shared)]]

    def _having(self, answer: str) -> Collection[int]:
        """The documents that have all the words of an answer, or all documents where words do not tell."""
        words = content_words(answer)
        if any(len(word) < 2 or word not in self._holders for word in words):
            return range(len(self._texts))
        having: _Numbers | None = None
        for word in sorted(words, key=lambda each: len(self._holders[each])):
            holders = self._holders[word]
            having = holders if having is None else np.intersect1d(having, holders, assume_unique=True)
        return range(len(self._texts)) if having is None else having.tolist()


class Later(Generic[_Made]):
    """Something that is made in a thread of its own, beside the pages."""

    def __init__(self, make: Callable[[], _Made]) -> None:
        self._done = Event()
        self._made: _Made | None = None
        self._problem: BaseException | None = None

        def run() -> None:
            try:
                self._made = make()
            except BaseException as error:  # noqa: BLE001 - told to whoever asks
                self._problem = error
            self._done.set()

        Thread(target=run, daemon=True).start()

    def get(self, wait_s: float | None = 0.0) -> _Made | None:
        """What was made; `None` where it is not ready after so many seconds. Raises what making it raised.

        `wait_s` none: however long it takes.
        """
        if not self._done.wait(wait_s):
            return None
        if self._problem is not None:
            raise self._problem
        return self._made
