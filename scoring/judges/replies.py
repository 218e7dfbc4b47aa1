"""Readers of judges' replies."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from typing import Any

import regex

_DOUBLE_BRACKETS = re.compile(r"\[\[(.*?)\]\]")
_LLMTEST_MARKS = {str(mark): mark for mark in range(1, 11)}


class JudgeReplyError(ValueError):
    """The judge's reply holds no verdict that its contract allows."""


def parse_evalscope_reply(reply: str) -> float:
    """Read EvalScope's contract: one top-level JSON object with a `verdict` of 0..10, the score times 10.

    Text around the object is allowed. Converted as by pydantic: `"8"` is 8, `true` is 1. Braces inside double quotes
    are not counted, so that an odd number of quotes before the object hides it.
    """
    objects = top_level_objects(reply)
    if len(objects) != 1:
        count = f"{len(objects) or 'no'} JSON objects" if reply else "empty response: no JSON object"
        raise JudgeReplyError(f"{count} in the reply, where exactly one is required")
    try:
        fields = json.loads(objects[0])
        verdict = fields.get("verdict")
        value = float(verdict) if isinstance(verdict, str | int | float) else nan
    except (ValueError, OverflowError, RecursionError) as error:
        raise JudgeReplyError(f"reply is not valid JSON: {error}") from error
    if not 0 <= value <= 10 or not isinstance(fields.get("reasoning", ""), str):
        raise JudgeReplyError(f"reply does not satisfy the contract: no `verdict` of 0 to 10: {_short(objects[0])}")
    return value


def parse_llmtest_reply(reply: str) -> int:
    """Read LLMTest's contract: the first `[[n]]` of the reply, n a whole number 1..10 without spaces."""
    match = _DOUBLE_BRACKETS.search(reply)
    mark = _LLMTEST_MARKS.get(match[1]) if match else None
    if mark is None:
        raise JudgeReplyError(f"no [[1]]..[[10]] as the first double brackets: {reply[:80]!r}")
    return mark


# Double-quoted strings stay whole; what is never closed hides all that follows.
_OBJECTS = regex.compile(
    r'(?P<text>"(?>[^"\\]+|\\.?)*+(?:"|\Z))|(?P<object>(?P<braces>\{(?>[^{}"]+|(?&text)|(?&braces))*+\}))|\{.*',
    regex.DOTALL,
)


def top_level_objects(text: str) -> list[str]:
    """Cut out everything from a `{` to its matching `}`, with double-quoted strings left whole."""
    return [match["object"] for match in _OBJECTS.finditer(text) if match["object"]]


# Read are the forms that judges' prompts ask for: one JSON object, `true`, `yes`, `CORRECT`, `GRADE: C` (inspect_ai: C,
# I, P, N), a letter alone (simple-evals' SimpleQA: A correct, B incorrect, C not attempted), `[[7]]` of 10 (LLMTest,
# MT-Bench). Nothing is guessed: two verdicts that differ, or none, raise `JudgeReplyError`.
_LONGEST_REASON = 500
_SHOWN = 80
_FULL = 10.0
_REASONS = ("reason", "reasoning", "explanation", "rationale")
_VERDICTS = ("correct", "is_correct", "verdict", "grade", "judgement", "judgment", "result", "label")
_WORDS = {
    **dict.fromkeys(("true", "yes", "correct", "right", "pass", "a"), 1.0),
    **dict.fromkeys(("false", "no", "incorrect", "wrong", "fail", "b", "not_attempted", "not attempted"), 0.0),
    **dict.fromkeys(("partial", "partially correct", "partially_correct"), 0.5),
}
_LETTERS = _WORDS | {"c": 0.0}
_GRADES = _WORDS | {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0}
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"^\s*```\w*[ \t]*\n(.*?)\n?```\s*$", re.DOTALL)
_BRACKETS = re.compile(r"\[\[\s*([^\[\]]{1,20}?)\s*\]\]")
_NAMED = re.compile(
    rf"^[\W_]*(?:final )?(?:{'|'.join(_VERDICTS)})[\W_]*[:=][\W_]*([\w ]+?)[\W_]*(?:[.,;(–—-].*)?$",
    re.IGNORECASE | re.MULTILINE,
)
_LETTER = re.compile(r"\(?[ABC]\)?\s*[:.]?\s*(CORRECT|INCORRECT|NOT[_ ]ATTEMPTED)", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Ruling:
    """A judge's verdict, 0..1 (1 is right), and why; empty where it gave no reason."""

    value: float
    reason: str = ""

    @property
    def correct(self) -> bool:
        """Whether the answer is all right."""
        return self.value == 1


def parse_ruling(reply: str) -> Ruling:
    """Read a judge's reply; see the module for its forms. Reasoning in `<think>` is passed over."""
    text = _THOUGHT.sub("", reply).strip()
    objects = top_level_objects(text)
    if len(objects) > 1:
        raise JudgeReplyError(f"{len(objects)} JSON objects in the reply where one is required")
    if objects:
        return _of_json(objects[0])
    fenced = _FENCE.match(text)
    text = fenced[1].strip() if fenced else text
    verdicts = set(_verdicts(text))
    if len(verdicts) > 1:
        raise JudgeReplyError(f"several verdicts in one reply: {_short(text)}")
    if not verdicts:
        raise JudgeReplyError(f"no verdict in the reply: {_short(text)}" if text else "the reply is empty")
    return Ruling(verdicts.pop())


def _verdicts(text: str) -> Iterator[float]:
    """The verdicts of a reply that is no JSON: in double brackets, else by name, else the whole reply."""
    if brackets := _BRACKETS.findall(text):
        yield from (_known(each, _GRADES if len(each) > 1 else _LETTERS) for each in brackets)
    elif named := _NAMED.findall(text):
        yield from (_known(value, _GRADES) for value in named)
    elif letter := _LETTER.fullmatch(text):
        yield _known(letter[1], _WORDS)
    else:
        word = text.strip(" \t\n\r.*_`\"'!()").casefold()
        if word in _LETTERS:
            yield _LETTERS[word]


def _known(text: str, words: dict[str, float]) -> float:
    plain = " ".join(text.casefold().split())
    if plain in words:
        return words[plain]
    if _NUMBER.fullmatch(plain) and float(plain) <= _FULL:
        return float(plain) / _FULL
    raise JudgeReplyError(f"{_short(text)} is no verdict: right or wrong, or a mark of 0 to 10")


def _of_json(text: str) -> Ruling:
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError) as error:
        raise JudgeReplyError(f"reply is not valid JSON: {error}") from error
    values = {str(name).casefold(): value for name, value in pairs}
    if len(values) < len(pairs):
        raise JudgeReplyError("the reply says something twice")
    stated = {_value(name, values[name]) for name in (*_VERDICTS, "score", "rating", "mark") if name in values}
    if len(stated) != 1:
        why = "several verdicts that differ" if stated else "no `correct`, `verdict`, `grade`, `score` or `rating`"
        raise JudgeReplyError(f"{why}: {_short(text)}")
    reason = next((values[name] for name in _REASONS if isinstance(values.get(name), str)), "")
    return Ruling(stated.pop(), " ".join(reason.split())[:_LONGEST_REASON])


def _value(name: str, value: Any) -> float:
    """0..1. Marks are of 10 (EvalScope's `verdict`); `score` is 0..1 (EvalScope's too), `correct` 0 or 1."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        return _known(value, _GRADES)
    most = 1.0 if name in ("score", "correct", "is_correct") else _FULL
    whole = name in ("correct", "is_correct") and value not in (0, 1)
    if not isinstance(value, (int, float)) or not 0 <= value <= most or whole:
        raise JudgeReplyError(f"`{name}` is no verdict: {_short(repr(value))}")
    return value / most


def _short(text: str) -> str:
    return repr(" ".join(text.split())[:_SHOWN])
