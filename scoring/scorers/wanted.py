"""What an answer is to give: a reference's values, folded as answers are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from needlework.scoring.answers.folding import fold
from needlework.scoring.answers.keys import Asked, asked_for
from needlework.scoring.scores import Reference

_TRIM = " .,;:!?。，；：！？、…\"'"
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A reference, folded. `parts` has one tuple of spellings for each value that is wanted.

    `alone`: only whether the value is affirmed, whatever else is given; `size`: how many values the answer may hold.
    """

    parts: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...]
    statement: str
    question: str
    asked: Asked
    size: int
    alone: bool = False

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for part in self.parts for value in part)


def wanted_of(reference: Reference) -> Wanted:
    """Fold a reference. Raises `ValueError` where it has no value."""
    spelled = tuple(value for answer in reference.answers for value in spellings(answer))
    parts = tuple(each for each in map(spellings, reference.parts) if each)
    if not parts and not spelled:
        raise ValueError("the reference has no value to match: give answers or parts")
    statement = folded_value(reference.statement) if reference.statement else ""
    question = fold(reference.question) if reference.question else ""
    wrong = tuple(value for value in map(folded_value, reference.distractors) if value)
    parts = parts or (spelled,)
    return Wanted(parts, wrong, statement, question, asked_for(question or statement), len(parts))


@lru_cache(1024)
def spellings(text: str) -> tuple[str, ...]:
    """A value folded, and with its umlauts written out (`Goettingen`)."""
    spelled = (text,) if text.isascii() else (text, text.translate(_UMLAUTS))
    return tuple(dict.fromkeys(value for value in map(folded_value, spelled) if value))


def folded_value(text: str) -> str:
    """Fold a value, without the quotes and stops around it."""
    return without_stops(fold(text))


def without_stops(folded: str) -> str:
    """A folded text without the quotes and stops around it; as it is where nothing else is there."""
    return folded.lstrip(" \"'").rstrip(_TRIM) or folded
