"""A model's reply read as pairs of question and answer; what is wrong with it is said in words that it can be sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import regex

from needlework.scoring.answers.normalize import normalize

if TYPE_CHECKING:
    from pydantic import BaseModel

MOST_WORDS, MOST_CHARACTERS = 25, 60  # of an answer; characters where words have no spaces between them
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_WORD = regex.compile(r"[^\W_]+(?:['.,-][^\W_]+)*")
_TRIES = 64  # brackets of a reply that may be where its JSON begins


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, its answer, and other spellings of that."""

    question: str
    answer: str
    aliases: tuple[str, ...] = ()


@cache
def _contract() -> type[BaseModel]:
    """Only this needs pydantic: other commands need not wait for it."""
    from typing import Annotated

    from pydantic import BaseModel, ConfigDict, StringConstraints

    text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

    class Item(BaseModel):
        model_config = ConfigDict(coerce_numbers_to_str=True)

        question: text
        answer: text
        aliases: list[text] = []

    return Item


def read_pairs(reply: str, count: int) -> tuple[Pair, ...]:
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
    told = f"{unspaced} characters" if unspaced > words else f"{words} words"
    most = f"{MOST_CHARACTERS} characters" if unspaced > words else f"{MOST_WORDS} words"
    return f"the answer has {told}, at most {most} are short"


def _pairs(value: Any, count: int) -> tuple[Pair, ...]:
    pairs = tuple(_pair(number, item) for number, item in enumerate(_items(value)[:count], 1))
    if len({normalize(pair.question) for pair in pairs}) < len(pairs):
        raise ValueError("two of the questions are the same")
    if len(pairs) < count:
        raise ValueError(f"{len(pairs)} where {count} were asked for")
    return pairs


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    lists = [each for each in value.values() if isinstance(each, list)]
    return lists[0] if len(lists) == 1 and "question" not in value else [value]


def _pair(number: int, item: Any) -> Pair:
    from pydantic import ValidationError

    try:
        found = vars(_contract().model_validate(item))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"{part}: " for part in first["loc"])
        raise ValueError(f"item {number}: {place}{first['msg']}") from None
    pair = Pair(found["question"], found["answer"], tuple(found["aliases"]))
    long = too_long(pair.answer)
    if long:
        raise ValueError(f"item {number}: {long}")
    return pair


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
