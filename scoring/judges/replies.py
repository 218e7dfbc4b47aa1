"""Reading a judge's reply. A reply that cannot be read is an error, never a score of 0."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel

_DOUBLE_BRACKETS = re.compile(r"\[\[(.*?)\]\]")
_LLMTEST_MARKS = {str(mark): mark for mark in range(1, 11)}


class JudgeReplyError(ValueError):
    """The judge's reply holds no verdict that its contract allows."""


@cache
def _contract() -> type[BaseModel]:
    """Most runs have no judge: they need not wait for pydantic."""
    from pydantic import BaseModel, Field

    class Rating(BaseModel):
        reasoning: str = ""
        verdict: float = Field(ge=0, le=10)

    return Rating


def parse_evalscope_reply(reply: str) -> float:
    """Read EvalScope's contract: exactly one top-level JSON object with a `verdict` of 0..10 (score = verdict / 10).

    Text around the object is allowed. Pydantic's lenient conversions apply (`"8"` is 8, `true` is 1); braces inside
    double quotes are not counted, so that an odd number of quotes before the object hides it.
    """
    if not reply:
        raise JudgeReplyError("empty response")
    objects = top_level_objects(reply)
    if not objects:
        raise JudgeReplyError("no JSON object found in the reply")
    if len(objects) > 1:
        raise JudgeReplyError(f"{len(objects)} JSON objects found where exactly one is required")
    from pydantic import ValidationError

    try:
        return float(vars(_contract().model_validate(json.loads(objects[0])))["verdict"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "reply"
        raise JudgeReplyError(f"reply does not satisfy the contract: {place}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise JudgeReplyError(f"reply is not valid JSON: {error}") from error


def parse_llmtest_reply(reply: str) -> int:
    """Read LLMTest's contract: the first `[[n]]` of the reply, n a whole number 1..10 without spaces."""
    match = _DOUBLE_BRACKETS.search(reply)
    mark = _LLMTEST_MARKS.get(match[1]) if match else None
    if mark is None:
        raise JudgeReplyError(f"no [[1]]..[[10]] as the first double brackets: {reply[:80]!r}")
    return mark


def top_level_objects(text: str) -> list[str]:
    """Cut out everything from a `{` to its matching `}`, reading double-quoted strings from the start of the text."""
    objects: list[str] = []
    depth = start = 0
    # Only these characters change anything; a back slash in a string hides the character behind it.
    quoted = False
    skip = -1
    for mark in re.finditer(r'[{}"\\]', text):
        place, char = mark.start(), mark[0]
        if place == skip:
            continue
        if quoted:
            if char == "\\":
                skip = place + 1
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char == "{":
            start = start if depth else place
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if not depth:
                objects.append(text[start : place + 1])
    return objects
