"""Pairs of question and answer, read from a model's reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import regex

from needlework.scoring.plain_text import normalize

MOST_WORDS, MOST_CHARACTERS = 25, 60  # of an answer; characters where words have no spaces between them
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_WORD = regex.compile(r"[^\W_]+(?:['.,-][^\W_]+)*")
_TRIES = 64  # brackets of a reply that may be where its JSON begins


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """A question, its answer, and other spellings of that."""

    question: str
    answer: str
    aliases: tuple[str, ...] = ()


def read_pairs(reply: str, count: int) -> tuple[QuestionPair, ...]:
    """Read `count` pairs from a reply: a JSON object, a list of them, or an object that holds such a list.

    Text around the JSON is passed over. Further pairs are left out. Raises `ValueError`.
    """
    problems = []
    for value in json_values(reply):
        try:
            return _pairs(value, count)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError(problems[0] if problems else 'there is no JSON like [{"question": "...", "answer": "..."}] in it')


def too_long(answer: str) -> str:
    """Why an answer is too long for a question that a few words answer; empty where it is not."""
    unspaced = len(_UNSPACED.findall(answer))
    words = len(_WORD.findall(_UNSPACED.sub(" ", answer)))
    if words / MOST_WORDS + unspaced / MOST_CHARACTERS <= 1:
        return ""
    count, most, unit = (unspaced, MOST_CHARACTERS, "characters") if unspaced > words else (words, MOST_WORDS, "words")
    return f"the answer has {count} {unit}, at most {most} {unit} are short"


def json_values(reply: str) -> Iterator[Any]:
    """Objects and lists that begin somewhere in the reply, the outermost first."""
    decoder, end = json.JSONDecoder(), 0
    for tried, mark in enumerate(regex.finditer(r"[\[{]", reply)):
        if tried == _TRIES:
            return
        if mark.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(reply, mark.start())
        except (ValueError, RecursionError):
            continue
        yield value


def _pairs(value: Any, count: int) -> tuple[QuestionPair, ...]:
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        value = lists[0] if len(lists) == 1 and "question" not in value else [value]
    pairs = tuple(_pair(f"item {number}", item) for number, item in enumerate(value[:count], 1))
    if len({normalize(pair.question) for pair in pairs}) < len(pairs):
        raise ValueError("two of the questions are the same")
    if len(pairs) < count:
        raise ValueError(f"{len(pairs)} where {count} were asked for")
    return pairs


def _pair(name: str, item: Any) -> QuestionPair:
    if not isinstance(item, dict):
        raise ValueError(f"{name} is no JSON object")
    aliases = item.get("aliases", [])
    if not isinstance(aliases, list):
        raise ValueError(f"{name}: `aliases` is no list")
    question, answer = (_text(f"{name}: `{field}`", item.get(field)) for field in ("question", "answer"))
    long = too_long(answer)
    if long:
        raise ValueError(f"{name}: {long}")
    return QuestionPair(question, answer, tuple(_text(f"{name}: an alias", alias) for alias in aliases))


def _text(name: str, value: Any) -> str:
    """A text, or a number written out. Raises `ValueError`, also for half of a surrogate pair."""
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    text = str(value).strip() if is_text else ""
    if not text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{name} is missing or no text")
    return text
