"""Folding: what `normalize` leaves apart, made one: accents, dashes, LaTeX around digits, digits said one by one.

The tables of cues are folded in the same way, so that they can be compared.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any

from needlework.scoring.answers.normalize import CJK, normalize_lines

MARK = "\ue000"
"""What stands for a value in a sketch (`cues`); no text has it."""

_STROKES = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "æ": "ae",
        "œ": "oe",
        "ı": "i",
        "ð": "d",
        "þ": "th",
        "،": ",",
        "→": "->",
        "⇒": "=>",
        "➜": "->",
        "➔": "->",
        "⟶": "->",
    }
)
_DASHES = re.compile(r"(?<=\w)[‐‑‒–−](?=\w)")
_PAUSES = re.compile(r" *[–—―⸺⸻‒]+ *")
_LATEX_SPACE = re.compile(r"(?<=\d)(?:\\[,;: !]|~|\{,\}|\\thinspace|\\ )(?=\d)")
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|operatorname|mathit|texttt|textit)\s*\{([^{}]*)\}")
_SHORT = 20_000  # nobody says a number digit by digit in a longer one
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_MARKS = re.compile("[\u0300-\u036f]+")
_CJK_DIGITS = "〇零一二三四五六七八九"
_CJK_NUMBER = re.compile(rf"(?<![\d{_CJK_DIGITS}十百千万亿第])[{_CJK_DIGITS}]{{3,}}(?![\d{_CJK_DIGITS}十百千万亿])")
_HAN = rf"\u3005-\u3007{CJK}\uac00-\ud7a3"
_BESIDE_LETTERS = re.compile(rf"(?<=[{_HAN}])(?=[a-z])|(?<=[a-z])(?=[{_HAN}])")
_GAPS = re.compile(rf"(?<=[{_HAN}]) (?=[a-z{MARK}])|(?<=[a-z{MARK}]) (?=[{_HAN}])")
_BESIDE_DIGITS = re.compile(rf"(?<=[{_HAN}]) (?=\d)|(?<=\d) (?=[{_HAN}])")
_TO_DIGIT = str.maketrans(dict(zip(_CJK_DIGITS, "00123456789", strict=True)))


@cache
def units() -> dict[str, Any]:
    """Words beside numbers, and numbers in words."""
    return tomllib.loads(table("units.toml"))


def table(name: str) -> str:
    """A table of words in `data`, folded as answers are."""
    return strip_marks(files("needlework.scoring.answers.data").joinpath(name).read_text("utf-8"))


@cache
def _digit_words() -> tuple[dict[str, str], re.Pattern[str]]:
    words = {word: digit for digit, spellings in units()["digits"].items() for word in spellings}
    word = f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"
    return words, re.compile(rf"(?<!\w){word}(?:[ ,-]{{1,2}}{word}){{2,}}(?!\w)")


def fold_lines(text: str) -> str:
    """Fold a text and keep its line breaks."""
    if "\\" in text or "{,}" in text:
        text = _LATEX_TEXT.sub(r" \1 ", _LATEX_SPACE.sub("\u202f", text).replace("\\$", "$").replace("\\%", "%"))
    if not text.isascii():
        text = _PAUSES.sub(" - ", _DASHES.sub("-", text.translate(_STROKES)))
    if MARK in text:
        text = text.replace(MARK, " ")
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    lines = normalize_lines(text)
    if not lines.isascii():
        lines = spaced_alike(strip_marks(lines))
        lines = _CJK_NUMBER.sub(lambda found: found[0].translate(_TO_DIGIT), lines)
    words, said = _digit_words()
    if len(lines) < _SHORT and said.search(lines):
        lines = said.sub(lambda found: "".join(words[word] for word in re.split(r"[ ,-]+", found[0])), lines)
        lines = _BESIDE_DIGITS.sub("", lines)
    return lines


def spaced_alike(lines: str) -> str:
    """No space between Han, kana or Hangul and a digit (`3只`), and one between them and a Latin letter (`b 座`).

    Writers put them or not. Latin words keep theirs, since tables of words are looked for between spaces.
    """
    return _BESIDE_LETTERS.sub(" ", _BESIDE_DIGITS.sub("", lines))


def closed_up(text: str) -> str:
    """A folded text or sketch without spaces between Han, kana or Hangul and Latin letters or values."""
    return text if text.isascii() else _GAPS.sub("", text)


def fold(text: str) -> str:
    """Fold a text to one line."""
    return fold_lines(text).replace("\n", " ")


def strip_marks(text: str) -> str:
    """Take the accents off Latin, Greek and Cyrillic letters; other scripts' marks are letters of their own."""
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text))).translate(_STROKES)
