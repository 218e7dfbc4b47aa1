"""Colours of scores and marks of cells without one: the same in pictures and in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from needlework.results.records.record import OutcomeName

ColorsName = Literal["safe", "field"]
Rgb = tuple[int, int, int]

# `safe`: nine points of viridis, told apart with every kind of colour blindness and in grey print.
# `field`: red-yellow-green, as the published needle-in-a-haystack pictures have it.
COLORS: dict[ColorsName, tuple[str, ...]] = {
    "safe": ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"),
    "field": ("#F0496E", "#EBB839", "#0CD79F"),
}

# B - A from -100 to +100 points: ColorBrewer's RdBu, whose two ends are told apart with every kind of colour blindness.
DIFFERENCES = (
    "#67001f", "#b2182b", "#d6604d", "#f4a582", "#fddbc7", "#f7f7f7",
    "#d1e5f0", "#92c5de", "#4393c3", "#2166ac", "#053061",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """How a cell without any score is shown: hatched in pictures, by a letter in the terminal, never by a colour."""

    outcome: OutcomeName
    letter: str
    hatch: str
    legend: str


# In the order of precedence: a cell with several outcomes shows the one that casts the most doubt.
MARKS: tuple[Mark, ...] = (
    Mark("invalid", "!", "xxxx", "invalid: prompt not as built"),
    Mark("error", "E", "////", "error: no score"),
    Mark("censored", "c", "....", "censored: cut off before an answer"),
    Mark("unclear", "?", "oo", "unclear: right or wrong cannot be told"),
    Mark("skipped", "s", "---", "skipped: does not fit the window"),
)
NOT_RUN = "."


def mark_of(scored: int, counts: Mapping[OutcomeName, int]) -> Mark | None:
    """Return the mark of a cell without a scored trial, by how many trials had each outcome; `None` when it has one."""
    return None if scored else next((mark for mark in MARKS if counts.get(mark.outcome)), None)


def color_of(score: float, colors: ColorsName = "safe") -> Rgb:
    """Return the colour of a score in 0..1."""
    return between(COLORS[colors], score)


def difference_color(difference: float) -> Rgb:
    """Return the colour of a difference of scores, -1..1: red where B is worse, blue where it is better."""
    return between(DIFFERENCES, (difference + 1) / 2)


def between(colors: Sequence[str], share: float) -> Rgb:
    """The colour at `share` (0..1) of a map, linear between its points."""
    points = [tuple(int(text[i : i + 2], 16) for i in (1, 3, 5)) for text in colors]
    at = min(1.0, max(0.0, share)) * (len(points) - 1)
    left = min(int(at), len(points) - 2)
    red, green, blue = (round(a + (b - a) * (at - left)) for a, b in zip(points[left], points[left + 1], strict=True))
    return red, green, blue


def dark(color: Rgb) -> bool:
    """Whether white text reads better than black on `color` (WCAG relative luminance)."""
    red, green, blue = (c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179
