"""Palette, fonts and text of reports."""

import importlib.util
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import floor, inf
from pathlib import Path
from textwrap import wrap
from typing import Literal

from msgspec import Struct

from needlework.core.record import OutcomeName

# Escape sequences first (CSI, OSC, then any two-byte one), so that their parameters do not stay behind as text.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


NONE = "–"
"""A cell of a table without a value."""


def clean(text: str) -> str:
    """Remove terminal escapes and control characters but tab and newline; half surrogates: U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", plain))


def one_line(text: str) -> str:
    """Clean and put on one line."""
    return " ".join(clean(text).split())


def display_width(text: str) -> int:
    """Terminal columns of `text`: 2 for East Asian wide characters, 0 for combining marks."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def fit(text: str, width: int, mark: str = "~") -> str:
    """Cut `text` to `width` terminal columns, the one-column `mark` included; `~` is in every encoding."""
    if display_width(text) <= width:
        return text
    start, used = "", 0
    for character in text:
        used += _columns(character)
        if used > width - 1:
            break
        start += character
    return start + mark if width > 0 else ""


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
    """A key for natural order: `q2` before `q10`, numbers before words."""
    parts = re.split(r"(\d+)", text)
    return tuple((float(part[:300]), "") if part.isdecimal() else (inf, part) for part in parts if part)


def length_labels(lengths: Sequence[int]) -> tuple[str, ...]:
    """Label lengths in tokens, never rounded: `500`, `4k`, `4096`, `1.5M`."""
    return tuple(map(length_label, lengths))


def length_label(length: int | None) -> str:
    """Label one length; `none` without it."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if length and length >= size and length % (size // 10) == 0:
            return f"{length / size:.1f}".removesuffix(".0") + unit
    return "none" if length is None else str(length)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def counted(number: int, what: str) -> str:
    """`1 sample`, `1,200 samples`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def first_few(names: Sequence[str], shown: int = 3, separator: str = ", ") -> str:
    """`a, b, c and 2 more`."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"{separator.join(names[:shown])}{more}"


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


def clock(seconds: float | None) -> str:
    """Format a duration as `1:05:09` or `5:09`; an unknown one as an empty text."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


ColorsName = Literal["viridis", "red-yellow-green"]
Rgb = tuple[int, int, int]

# Nine points of viridis, told apart with every kind of colour blindness and in grey print; and the colours of the first
# needle-in-a-haystack pictures.
COLORS: dict[ColorsName, tuple[str, ...]] = {
    "viridis": ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"),
    "red-yellow-green": ("#F0496E", "#EBB839", "#0CD79F"),
}
COUNTS = ("#dbebf5", "#1a5980")  # how often a cell was asked

# B - A from -100 to +100 points: ColorBrewer's RdBu, whose two ends are told apart with every kind of colour blindness.
DIFFERENCES = (
    "#67001f", "#b2182b", "#d6604d", "#f4a582", "#fddbc7", "#f7f7f7",
    "#d1e5f0", "#92c5de", "#4393c3", "#2166ac", "#053061",
)  # fmt: skip


class UnscoredMark(Struct, frozen=True):
    """The mark of a cell without a score: hatched in pictures, a letter in the terminal, no colour."""

    outcome: OutcomeName
    letter: str
    hatch: str
    legend: str


# In the order of precedence: a cell with several outcomes shows the one that casts the most doubt.
MARKS: tuple[UnscoredMark, ...] = (
    UnscoredMark("invalid", "!", "xxxx", "invalid: prompt not as built"),
    UnscoredMark("error", "E", "////", "error: no score"),
    UnscoredMark("censored", "c", "....", "censored: cut off before an answer"),
    UnscoredMark("unclear", "?", "oo", "unclear: right or wrong cannot be told"),
    UnscoredMark("skipped", "s", "---", "skipped: does not fit the window"),
)
NOT_RUN = "."


def mark_of(scored: int, counts: Mapping[OutcomeName, int]) -> UnscoredMark | None:
    """Return the mark of a cell without a scored trial, by its outcomes; `None` when it has one."""
    return None if scored else next((mark for mark in MARKS if counts.get(mark.outcome)), None)


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


_LATIN = "DejaVu Sans"  # ships with matplotlib, so that it is always there
# Installed fonts with Chinese characters, the best known first (Linux, then macOS, then Windows).
_CJK_FAMILIES = (
    *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "Noto Sans CJK JP"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
    *("PingFang SC", "Hiragino Sans GB", "Heiti SC", "Arial Unicode MS"),
    *("Microsoft YaHei", "SimHei", "SimSun"),
)
_PACKAGED = "Noto Sans CJK SC Regular"  # of the package mplfonts


def font_families() -> list[str]:
    """Return matplotlib's font families: one that is always there, and a Chinese one if installed."""
    from matplotlib import font_manager

    known = font_manager.fontManager.ttflist
    names = {entry.name for entry in known}
    package = importlib.util.find_spec("mplfonts")  # looked up, never imported
    folder = next(iter((package and package.submodule_search_locations) or ()), "")
    path = Path(folder, "fonts", "NotoSansCJKsc-Regular.otf")
    if _PACKAGED not in names and folder and path.is_file():
        font_manager.fontManager.addfont(path)
        known.append(replace(known[-1], weight=700))  # else each bold label has a line of matplotlib's log
        return [_LATIN, _PACKAGED]
    return [_LATIN, *[name for name in (_PACKAGED, *_CJK_FAMILIES) if name in names][:1]]


BLOCKS = "▁▂▃▄▅▆▇█"


def score_glyph(score: float) -> str:
    """Return one character for a score in 0..1: `▁`..`█`. Only a full score has the last one."""
    return BLOCKS[min(len(BLOCKS) - 1, max(0, floor(score * (len(BLOCKS) - 1))))]


def can_encode(encoding: str | None, text: str = BLOCKS) -> bool:
    """Whether a stream with this encoding can show the text; without one, the block characters."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


_PLAIN = str.maketrans({"·": "|", "–": "-", "…": "~", "−": "-", "≥": ">", "≤": "<", **dict.fromkeys(BLOCKS, " ")})


def folded(text: str, width: int, indent: str = "  ") -> list[str]:
    """Break a sentence into lines of at most `width` columns; further lines begin with `indent`.

    A word that is longer stays whole: a path that was broken is none any more.
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and display_width(lines[-1]) + 1 + display_width(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent if lines else ''}{word}")
    return lines


def folded_command(label: str, words: Sequence[str], width: int) -> list[str]:
    """Break a command behind its label as `folded` does, so that a shell reads the lines as one command."""
    unbroken = " ".join(word.replace(" ", "\0") for word in words)
    *lines, last = (line.replace("\0", " ") for line in folded(f"{label}{unbroken}", width - 2))
    return [*(f"{line} \\" for line in lines), last]


def broken(text: str, width: int) -> list[str]:
    """Break at ` · ` into lines of at most `width` columns, and at spaces where that is not enough."""
    lines: list[str] = []
    for part in text.split(" · ") if text else ():
        joined = f"{lines[-1]} · {part}" if lines else part
        lines[-1:] = [joined] if lines and display_width(joined) <= width else [*lines[-1:], *wrap(part, width)]
    return lines


WIDE = 1_000
"""Columns of what is no terminal: there a table stays in one piece."""


def folded_table(rows: Sequence[Sequence[str]], names: int, width: int = WIDE) -> Iterator[str]:
    """Columns of one width, the first `names` to the left; the excess goes below, with the names again."""
    sizes = [max(display_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = width - sum(sizes[:names]) - 2 * (names - 1)
    blocks: list[list[int]] = [[]]
    used = 0
    for at in range(names, len(sizes)):
        if blocks[-1] and used + sizes[at] + 2 > room:
            blocks.append([])
            used = 0
        blocks[-1].append(at)
        used += sizes[at] + 2
    for block in blocks:
        for row in rows:
            cells = [row[at] + " " * (sizes[at] - display_width(row[at])) for at in range(names)]
            cells += [" " * (sizes[at] - display_width(row[at])) + row[at] for at in block]
            yield "  ".join(cells).rstrip()


def encodable(line: str, encoding: str | None) -> str:
    """Return the line as a stream of this encoding can show it: plain signs where it has no blocks."""
    if can_encode(encoding, BLOCKS + line):
        return line
    known = encoding if encoding and can_encode(encoding, "") else "ascii"
    return line.translate(_PLAIN).encode(known, "replace").decode(known)
