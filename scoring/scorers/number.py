"""One number: is the number that the answer ends with, or says alone on its first line, the right one?

Text is normalised (`normalize`), so `1,234` is 1234. Denied numbers and ordinals are left out; numbers of the question
count only where the answer has no others, numbers in words (to twenty) only where it has no digits. A concluding
sentence beats what stands before it. `7 or 8` and `7 to 9` are no answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from needlework.scoring.answers.normalize import flatten, normalize, normalize_lines
from needlework.scoring.answers.passages import conclusion, first_sentence, split_at_question
from needlework.scoring.answers.polarity import refusal_end
from needlework.scoring.answers.standing import is_negated
from needlework.scoring.answers.values import Span
from needlework.scoring.scores import Reference, Score, Scorer

_SHOWN = 160
_NUMBER = re.compile(r"(?<![0-9a-z_.])-?\d+(?:\.\d+)?(?![\d_]|st\b|nd\b|rd\b|th\b)")
_ALONE = re.compile(r"\W*?(-?\d+(?:\.\d+)?)\W*")
_EITHER = re.compile(r"[\"')\s]*(?:,? ?(?:or|to)\b|或者?|还是|到|至|[-/~])(?:\s*(?:maybe|perhaps|about))?[\"'(\s]*")
_ENGLISH = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
)
_CHINESE = "零一二三四五六七八九十"
_IN_WORDS = re.compile(rf"\b(?:{'|'.join(_ENGLISH)})\b|二十|十?[一二三四五六七八九]|[零十两]")


@dataclass(frozen=True, slots=True)
class _Given:
    """A number that an answer gives, and where."""

    span: Span
    value: float


def number_score(answer: str, reference: Reference) -> Score:
    """1 where the answer gives the number `answers[0]` (else `parts[0]`), and 0 otherwise.

    Details: `given`, `error` (given less right) and `relative_error` (of the right number, of 1 where that is 0). A
    reference without a number raises `ValueError`.
    """
    wanted = (*reference.answers, *reference.parts)
    if not wanted:
        raise ValueError("the reference has no number: give answers")
    right = float(wanted[0])
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    said = _said(lines, reference)
    if not any(char.isalnum() for char in said):
        return Score(0.0, "wrong", flatten(lines)[:_SHOWN], "only repeats the question")
    text = flatten(said)
    found = _numbers(text) or _in_words(text)
    declined = refusal_end(text)
    if not found or (declined is not None and all(number.span.start < declined for number in found)):
        if declined is not None:
            return Score(0.0, "refused", text[:_SHOWN], "declines to answer or says that it is not there")
        return Score(0.0, "wrong", text[:_SHOWN], "gives no number")
    asked = {number.value for number in _numbers(normalize(reference.question))}
    chosen = _chosen(said, found, asked)
    error = chosen.value - right
    details = {"given": chosen.value, "error": error, "relative_error": round(abs(error) / (abs(right) or 1.0), 4)}
    shown = f"{chosen.value:.12g}"
    if _hedged(text, chosen, [number for number in found if number.value not in asked]):
        return Score(0.0, "wrong", text[:_SHOWN], "gives several numbers to choose from", details)
    if error == 0:
        return Score(1.0, "found", shown, f"gives {shown}", details)
    known = shown in reference.distractors
    return Score(0.0, "distractor" if known else "wrong", shown, f"gives {shown}", details)


def _said(lines: str, reference: Reference) -> str:
    """What an answer says beside a repetition of the question: behind it, or else in a sentence before it."""
    pieces = split_at_question(lines, normalize(reference.question)) if reference.question else None
    if pieces is None:
        return lines
    before, after = pieces
    return after if any(char.isalnum() for char in after) else before[: first_sentence(before).end]


def _numbers(text: str) -> list[_Given]:
    spans = (Span(*match.span()) for match in _NUMBER.finditer(text))
    return [_Given(span, float(text[span.start : span.end])) for span in spans if not is_negated(text, *span)]


def _in_words(text: str) -> list[_Given]:
    """Numbers to twenty in words; the last is what counts, as in `一共七句`."""
    found = [_Given(Span(*match.span()), float(_spelled(match[0]))) for match in _IN_WORDS.finditer(text)]
    return [number for number in found if not is_negated(text, *number.span)][-1:]


def _spelled(word: str) -> int:
    if word.isascii():
        return _ENGLISH.index(word)
    if word == "两":
        return 2
    return 20 if word == "二十" else sum(_CHINESE.index(char) for char in word)


def _chosen(lines: str, found: list[_Given], asked: set[float]) -> _Given:
    """The number on a first line of its own; else the last of the conclusion; else the last."""
    first = _ALONE.fullmatch(lines.partition("\n")[0])
    if first and found[0].span.start == first.start(1):
        return found[0]
    end = conclusion(lines)
    concluded = [number for number in found if end and number.span.start >= end.start]
    for numbers in (concluded, found):
        new = [number for number in numbers if number.value not in asked]
        if new or concluded:
            return (new or numbers)[-1]
    return found[-1]


def _hedged(text: str, chosen: _Given, others: list[_Given]) -> bool:
    """Whether another number stands beside the chosen one as an alternative or the other end of a range."""
    for other in others:
        if other.value != chosen.value:
            first, second = sorted((other.span, chosen.span))
            if _EITHER.fullmatch(text, first.end, second.start):
                return True
    return False


NUMBER = Scorer("number", 3, number_score)
"""One number out of a longer text."""
