"""Lengths and depths of a grid: lists, ranges, and the rounding of each published system.

Lengths are in tokens, depths in percent. Peers' values are reproduced exactly; where a peer's order is odd (LLMTest's
sigmoid falls), the values are the peer's and the caller sorts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from needlework.haystack_fixtures.errors import InputError

_SUFFIX = {"": 1, "k": 1_000, "m": 1_000_000}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)([km]?)", re.IGNORECASE)
WINDOW = "window"  # a length: as many tokens as the model takes
_MOST_TOKENS = 10**9
_MOST_VALUES = 10_000  # of one range


def linear(first: float, last: float, count: int) -> list[float]:
    """`round(linspace)`, half to even: LLMTest_NeedleInAHaystack and EvalScope, lengths and depths."""
    return [float(value) for value in np.round(np.linspace(first, last, count)).astype(int)]


def logarithmic(first: float, last: float, count: int) -> list[float]:
    """Evenly spaced on a logarithmic axis, rounded to whole numbers."""
    return [float(value) for value in np.round(np.geomspace(first, last, count)).astype(int)]


def doubling(first: float, last: float, count: int | None = None) -> list[float]:
    """`first`, twice that, and so on; stops at `last`, which is added when the doubling misses it."""
    values = [first]
    while values[-1] * 2 <= last:
        values.append(values[-1] * 2)
    if values[-1] != last:
        values.append(last)
    return values if count is None else values[:count]


def llmtest_sigmoid(first: float, last: float, count: int) -> list[float]:
    """LLMTest's sigmoid depths: ends kept, three decimals. Its sign error makes the middle fall; values are its own."""
    return [
        x if x in (0, 100) else float(np.round(100 / (1 + math.exp(0.1 * (x - 50))), 3))
        for x in np.linspace(first, last, count).tolist()
    ]


def opencompass_linear(first: float, last: float, count: int) -> list[float]:
    """OpenCompass's linear depths: evenly spaced, then cut down to whole percent by its data set configs."""
    if count == 1:
        return [float(int(first))]
    step = (last - first) / (count - 1)
    return [float(int(first + step * i)) for i in range(count)]


def opencompass_sigmoid(first: float, last: float, count: int) -> list[float]:
    """OpenCompass's sigmoid depths: rising, ends not pinned, then cut down to whole percent."""
    xs = [first] if count == 1 else [first + (last - first) / (count - 1) * i for i in range(count)]
    return [float(int(round(100 / (1 + math.exp(-0.1 * (x - 50))), 3))) for x in xs]


Spacing = Callable[[float, float, int], list[float]]
LENGTH_SPACINGS: dict[str, Spacing] = {"linear": linear, "log": logarithmic, "doubling": doubling}
DEPTH_SPACINGS: dict[str, Spacing] = {
    "linear": linear,
    "sigmoid": llmtest_sigmoid,
    "opencompass-linear": opencompass_linear,
    "opencompass-sigmoid": opencompass_sigmoid,
}


def parse_tokens(option: str, text: str) -> int:
    """Read a number of tokens: `4000`, `4k`, `1.5k`, `1m` (k = 1,000)."""
    match = _LENGTH.fullmatch(text.strip())
    value = float(match[1]) * _SUFFIX[match[2].lower()] if match else 0.0
    if match is None or value > _MOST_TOKENS or value != int(value):
        raise InputError(option, text, f"give whole tokens up to {_MOST_TOKENS:,}, such as 4000, 4k or 1m")
    return int(value)


def parse_lengths(option: str, text: str, spacing: str) -> tuple[int, ...]:
    """Read `1k,2k,4k` or `1k:128k:8` (first:last:count; no count with doubling) into ascending tokens."""

    def length(word: str) -> float:
        value = float(parse_tokens(option, word))
        if value < 1:
            raise InputError(option, text, "lengths are tokens and begin at 1")
        return value

    values = _parse(option, text, LENGTH_SPACINGS[spacing], length, spacing)
    return tuple(sorted({int(value) for value in values}))


def without_window(option: str, text: str) -> tuple[str, bool]:
    """The lengths as written but for the word `window`, and whether it was there."""
    words = _words(option, text)
    rest = [word for word in words if word.lower() != WINDOW]
    return ",".join(rest), len(rest) < len(words)


def parse_depths(option: str, text: str, spacing: str) -> tuple[float, ...]:
    """Read `0,50,100` or `0:100:11` into ascending percents."""

    def percent(word: str) -> float:
        try:
            value = float(word.strip().removesuffix("%"))
        except ValueError:
            raise InputError(option, text, "depths are percents, such as 0,25,50 or 0:100:11") from None
        if not 0 <= value <= 100:
            raise InputError(option, text, "depths are percents from 0 to 100")
        return round(value, 3) + 0.0  # as ids say it; and no -0.0

    values = _parse(option, text, DEPTH_SPACINGS[spacing], percent, spacing)
    return tuple(sorted(set(values)))


def _words(option: str, text: str) -> list[str]:
    """The values of a list; a comma at its end is none."""
    words = re.findall(r"[^\s,]+", text)
    if not words:
        raise InputError(option, text, "give at least one value")
    if re.match(r"\s*,", text) or re.search(r",\s*,", text):
        raise InputError(option, text, f"a value is missing at a comma: give it, or {','.join(words)}")
    return words


def _parse(option: str, text: str, space: Spacing, number: Callable[[str], float], spacing: str) -> Sequence[float]:
    words = _words(option, text)
    if len(words) > 1 or ":" not in words[0]:
        return [number(word) for word in words]
    ends = words[0].split(":")
    if spacing == "doubling" and len(ends) == 2:
        ends.append("64")
    if len(ends) != 3 or not re.fullmatch("[0-9]{1,9}", ends[2]) or not 1 <= int(ends[2]) <= _MOST_VALUES:
        remedy = f"a range is first:last:count, such as 1k:128k:8 or 0:100:11, with a count up to {_MOST_VALUES:,}"
        raise InputError(option, text, remedy)
    first, last = number(ends[0]), number(ends[1])
    if last < first:
        raise InputError(option, text, "the last value of a range must not be below the first")
    return space(first, last, int(ends[2]))
