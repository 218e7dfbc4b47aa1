"""Canaries: a fact at the very start and one at the very end of the context, asked for in a request of their own.

They are trivial to find for a model that was given the whole prompt, so an answer without one of them tells a prompt
that was cut from a needle that was overlooked, also where a server gives no token counts.
"""

from __future__ import annotations

import random
import unicodedata
from dataclasses import dataclass

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_START = {"en": "The first mark of this text is {mark}.", "zh": "本文的第一个标记是{mark}。"}
_END = {"en": "The last mark of this text is {mark}.", "zh": "本文的最后一个标记是{mark}。"}
_QUESTION = {
    "en": "What are the first mark and the last mark of the text? Answer with the two marks only.",
    "zh": "本文的第一个标记和最后一个标记分别是什么？只回答这两个标记。",
}


@dataclass(frozen=True, slots=True)
class Canaries:
    """The two statements with their marks, and the question that asks for both."""

    start: str
    end: str
    start_mark: str
    end_mark: str
    question: str

    @property
    def statements(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Name and text of both, the first one first."""
        return ("canary_start", self.start), ("canary_end", self.end)

    def missing(self, answer: str) -> tuple[str, ...]:
        """`start`, `end`: the marks that the answer does not give."""
        said = _plain(answer)
        marks = {"start": self.start_mark, "end": self.end_mark}
        return tuple(end for end, mark in marks.items() if _plain(mark) not in said)


def canaries(language: str, *, seed: int, repeat: int) -> Canaries:
    """The canaries of one haystack: the same at every depth and length, so that prompts still begin alike."""
    rng = random.Random(f"canaries {language} {seed} {repeat}")
    first, last = (_mark(rng) for _ in range(2))
    known = language if language in _QUESTION else "en"
    return Canaries(_START[known].format(mark=first), _END[known].format(mark=last), first, last, _QUESTION[known])


def _mark(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=3)) + str(rng.randrange(1000, 10_000))


def _plain(text: str) -> str:
    """Only letters and digits, so that `BCD 1234`, `bcd-1234` and full-width forms are the mark `BCD1234`."""
    return "".join(each for each in unicodedata.normalize("NFKC", text).casefold() if each.isalnum())
