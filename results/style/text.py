"""Text as tables, pictures and terminals can take it: control characters, display width, numbers as labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from math import floor, inf
from pathlib import Path

# Escape sequences first (CSI, OSC, then any two-byte one), so that their parameters do not stay behind as text.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """Remove terminal escapes and control characters but tab and newline; half a surrogate pair becomes U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", plain))


def one_line(text: str) -> str:
    """Clean and put on one line."""
    return " ".join(clean(text).split())


def display_width(text: str) -> int:
    """Terminal columns of `text`: 2 for East Asian wide characters, 0 for combining marks."""
    return sum(_columns(character) for character in text)


def fit(text: str, width: int, mark: str = "~") -> str:
    """Cut `text` to `width` terminal columns, the one-column `mark` included; `~` is in every encoding."""
    if display_width(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += _columns(character)
        if used > width - 1:
            break
        kept += character
    return kept + mark if width > 0 else ""


def percent(score: float) -> str:
    """A score in 0..1 as whole percent. Only a full score reads 100 and only none at all reads 0."""
    if score in (0.0, 1.0):
        return "100" if score else "0"
    return str(min(99, max(1, floor(100 * score + 0.5))))


def percent1(score: float) -> str:
    """A score in 0..1 as percent with one decimal, under the same rule: 99.9 is the most that is not full."""
    if score in (0.0, 1.0):
        return "100" if score else "0"
    return f"{min(99.9, max(0.1, 100 * score)):.1f}"


def natural(text: str) -> tuple[tuple[float, str], ...]:
    """What people sort by: `q2` before `q10`, numbers before words."""
    parts = re.split(r"(\d+)", text)
    return tuple((float(part[:300]), "") if part.isdecimal() else (inf, part) for part in parts if part)


def length_labels(lengths: Sequence[int]) -> tuple[str, ...]:
    """Label lengths in tokens: `500`, `4k`, `1M`, with as few decimals as keep different lengths different."""
    for decimals in range(1, 4):
        labels = tuple(_length_label(length, decimals) for length in lengths)
        if len(set(labels)) == len(set(lengths)):
            return labels
    return tuple(str(length) for length in lengths)


def _length_label(length: int, decimals: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if length >= size and (unit == "k" or length % 100_000 == 0):
            return f"{length / size:.{decimals}f}".rstrip("0").rstrip(".") + unit
    return str(length)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def counted(number: int, what: str) -> str:
    """`1 sample`, `1,200 samples`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def relative(path: Path) -> str:
    """The path as a user types it here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def duration(seconds: float) -> str:
    """`0.4 s`, `40 s`, `25 min`, `3 h 20 min`."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"
