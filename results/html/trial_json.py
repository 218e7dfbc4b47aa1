"""Parts of a trial as JSON, written by hand: an encoder takes longer to begin than these take in all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from needlework.results.html.texts import percent_number, visible, without_marks
from needlework.results.records.record import SCORED

# What a table of values holds: texts, whole or cut, and lists of them.
Value = str | tuple[Any, ...] | None
quoted = json.encoder.encode_basestring


def value_json(value: Value | int) -> str:
    """A text, a list of them, or the number of characters that a cut text lacks."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return f"[{','.join(map(value_json, value))}]"
    return "null" if value is None else str(value)


def number_json(value: object) -> str:
    """A number with at most six digits after the point; `null` for whatever is no number."""
    if value is None or isinstance(value, bool):
        return "null"
    if isinstance(value, float):
        text = float.__repr__(value)
        if len(text) - text.find(".") <= 7 and "." in text and "e" not in text:
            return text  # rounding takes longer than all else here
        return float.__repr__(round(value, 6)) if isfinite(value) else "null"
    return int.__repr__(value) if isinstance(value, int) else "null"


def score_json(record: Mapping[str, Any]) -> str:
    """The score in percent; `null` where the outcome has none."""
    score = record.get("score") if record.get("outcome") in SCORED else None
    return "null" if number_json(score) == "null" else _percent(score)


@lru_cache(maxsize=1_024)
def _percent(score: float) -> str:
    return repr(percent_number(round(score, 6)))


def digest_json(value: object, digits: int) -> str:
    """A hash, cut to `digits` characters."""
    if value is None or value == "":
        return "null"
    text = str(value)
    return quoted(visible(text if len(text) <= digits else f"{text[:digits]}…"))


def around_json(needles: Sequence[Mapping[str, Any]], room: int) -> str:
    """What stands before and after each needle, at most `room` characters on each side."""
    found = [
        f"[{quoted(visible(without_marks(needle['before'])[-room:]))},"
        f"{quoted(visible(without_marks(needle['after'])[:room]))}]"
        for needle in needles
    ]
    return f"[{','.join(found)}]"
