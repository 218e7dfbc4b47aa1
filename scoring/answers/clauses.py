"""The clause and the sentence in which a value stands, in a sketch (`cues`)."""

from __future__ import annotations

import re

from needlework.scoring.answers.folding import MARK

BEFORE = 110
AFTER = 70
_BREAK = re.compile(
    r"[.;!?()\[\]{}|。；、:\n]|,(?!\s*(?:dass|que|what|that|что|чтобы)\b)|\s-\s|=>|->"
    r"|\b(?:but|however|sondern|aber|jedoch|mais|sino|pero)\b|而是|但|が、|\sа\s"
)
_SENTENCE = re.compile(r"(?<!\bno)[.!?;](?=[\s\"')\]]|$)|[。！？；\n]|\.\.\.")


def sentence_before(sketch: str, place: int) -> str:
    """What stands before a value in its sentence, back to the value before it."""
    before = sketch[max(0, place - BEFORE) : place]
    before = before[before.rfind(MARK) + 1 :]
    return before[_last_end(_SENTENCE, before) :]


def clause_before(sketch: str, place: int) -> str:
    """What stands before a value in its clause, back to the value before it."""
    before = sketch[max(0, place - BEFORE) : place]
    before = before[before.rfind(MARK) + 1 :]
    return before[_last_end(_BREAK, before) :]


def before_next(text: str) -> str:
    """A piece of a sketch up to its first value."""
    return text.partition(MARK)[0]


def _last_end(pattern: re.Pattern[str], text: str) -> int:
    end = 0
    for found in pattern.finditer(text):
        end = found.end()
    return end
