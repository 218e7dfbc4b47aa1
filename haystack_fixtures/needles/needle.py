"""Needles and needle sets: the values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Needle:
    """A statement for the haystack, with its question and reference answer.

    `key` and `answer` must occur nowhere else in the context. `keyword` is what keyword scorers look for (the answer
    when empty). `accepted` are other spellings of the right answer; `distractors` are whole statements that go into
    the haystack too, and `distractor_answers` their (wrong) values. `reply` is a right answer in the form that the
    question asks for, where a score compares with more than the value; a mock model gives it. `ask`: in a conversation,
    what the user says before; the statement is the assistant's reply.
    """

    name: str
    text: str
    question: str
    answer: str
    keyword: str = ""
    key: str = ""
    accepted: tuple[str, ...] = ()
    distractors: tuple[str, ...] = ()
    distractor_answers: tuple[str, ...] = ()
    reply: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True)
class JointQuestion:
    """One question over all needles of a set (multi-needle tasks).

    `diff` is the gap between needles in percent of the haystack (OpenCompass's parameter); `None` spaces them evenly
    over what lies below the first.
    """

    question: str
    answer: str
    keyword: str = ""
    diff: float | None = None


@dataclass(frozen=True, slots=True)
class NeedleSet:
    """A named collection of needles in one language."""

    name: str
    language: str
    source: str
    needles: tuple[Needle, ...]
    joint: JointQuestion | None = None
    sha256: str = ""
