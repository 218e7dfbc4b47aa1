"""Which part of an answer is the answer: sentences, conclusions, and copies of the prompt."""

from __future__ import annotations

import re

from needlework.scoring.answers.values import Span

LONG = 1000
CLOSING = 300
_CJK_WEIGHT = 3
_MIN_QUESTION = 8

_SENTENCE_END = re.compile(r"(?:[.!?](?=\s|$)|[。！？!?\n])[\"')\]]*")
_CONCLUSION = re.compile(
    r"\b(?:therefore|thus|so|hence|final|finally|answer|conclusion|boxed)\b|因此|所以|答案|综上|最终|总之|故"
)


def weight(text: str) -> int:
    """Measure a text in letters of an alphabet: a CJK character says as much as three."""
    if text.isascii():
        return len(text)
    return len(text) + (_CJK_WEIGHT - 1) * sum(char >= "\u2e80" for char in text)


def first_sentence(lines: str) -> Span:
    """Find the first sentence or line of a text from `normalize_lines`."""
    match = _SENTENCE_END.search(lines)
    return Span(0, match.end() if match else len(lines))


def last_sentence(lines: str) -> Span:
    """Find the last sentence or line that has a letter or digit."""
    last = next((place for place in range(len(lines) - 1, -1, -1) if lines[place].isalnum()), 0)
    start = 0
    for match in _SENTENCE_END.finditer(lines, 0, last):
        start = match.end()
    return Span(start, len(lines))


def conclusion(lines: str) -> Span | None:
    """Find the last sentence if it is one that concludes (`so the answer is ...`, `因此...`)."""
    last = last_sentence(lines)
    return last if _CONCLUSION.search(lines, last.start, last.end) else None


def split_at_question(lines: str, question: str) -> tuple[str, str] | None:
    """Split an answer that repeats the question into what stands before the last repetition and what follows.

    Both arguments are normalised, the answer by lines. Only a real question counts: what a base model is asked to go
    on with (`The code is`) belongs to the answer. `None` when the question is not repeated.
    """
    wanted = question.strip(" \"'.,:;。：；")
    if len(wanted) < _MIN_QUESTION or not ("?" in wanted or "？" in wanted):
        return None
    at = lines.replace("\n", " ").rfind(wanted)
    return None if at < 0 else (lines[:at], lines[at + len(wanted) :].lstrip(" \"'.,:;。：；_\n"))
