"""Phrases in every language, names of months, units and numbers: `words.toml`, `claims.toml`."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

MARK = "\ue000"
"""What stands for a value in a sketch (`claims`); no folded text has it."""
_UNSPACED = ("zh", "ja")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_STROKES = str.maketrans(
    dict(zip("øłđıð،→⇒➜➔", ["o", "l", "d", "i", "d", ",", "->", "=>", "->", "->"], strict=True))
    | {"æ": "ae", "œ": "oe", "þ": "th"}
)
_WORD = re.compile(r"[a-zа-я][a-zа-я'-]+|[\u3400-\u9fff\u30a0-\u30ff]")


def strip_accents(text: str) -> str:
    """A text without accents and strokes, and with signs as in ASCII."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text))).translate(_STROKES)


@cache
def tables() -> Mapping[str, Mapping[str, str]]:
    """The tables: language to kind to phrases, and `values` to the names of months, units and numbers."""
    merged: dict[str, dict[str, str]] = {}
    for name in ("words.toml", "match/claims.toml"):
        text = strip_accents(files("needlework.scoring").joinpath(name).read_text("utf-8"))
        for language, table in tomllib.loads(text).items():
            merged.setdefault(language, {}).update(table)
    return merged


def names(kind: str) -> list[list[str]]:
    """The rows of one table of `values`, each with the names of one thing."""
    return [row.split() for row in tables()["values"][kind].split("|")]


@cache
def phrases(kind: str, *, pattern: str = "%s") -> re.Pattern[str]:
    """The phrases of one kind in every language, as the `%s` of a pattern; M stands for a value."""
    rows = {language: table[kind].replace("\n", "") for language, table in tables().items() if table.get(kind)}
    spaced = "|".join(row for language, row in rows.items() if language not in _UNSPACED)
    unspaced = "".join(f"|{row}" for language, row in rows.items() if language in _UNSPACED)
    return re.compile((pattern % rf"(?:(?<!\w)(?:{spaced})(?!\w){unspaced})").replace("M", MARK))


def split_words(text: str) -> list[str]:
    """The words of a folded text, and each of its Chinese and Japanese characters."""
    return _WORD.findall(text)


@cache
def words_of(*kinds: str) -> frozenset[str]:
    """Every word of the phrases of some kinds, or of all tables."""
    rows = (row for table in tables().values() for kind, row in table.items() if not kinds or kind in kinds)
    return frozenset(split_words(" ".join(rows)))
