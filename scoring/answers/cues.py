"""What words say of the value beside them: the tables of `data/cues.toml` as regular expressions.

A text is given as a sketch: every value in it is the one character `MARK`. All languages are looked for at once, as
nobody tells in which one a model answers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from needlework.scoring.answers.folding import MARK, table

_UNSPACED = ("ja", "zh")


@cache
def _tables() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    read = tomllib.loads(table("cues.toml"))
    kinds = {kind for table in read.values() for kind in table}
    return MappingProxyType(
        {kind: {language: tuple(table.get(kind, ())) for language, table in read.items()} for kind in kinds}
    )


@cache
def cue(kind: str) -> str:
    """The regular expression of a table, for every language."""
    phrases = [_spaced(_phrases((kind,))), "|".join(_phrases((kind,), unspaced=True))]
    return f"(?:{'|'.join(filter(None, phrases))})".replace("M", MARK)


def _phrases(kinds: tuple[str, ...], *, unspaced: bool = False) -> list[str]:
    tables = [table for kind in kinds for table in _tables()[kind].items()]
    return [phrase for language, phrases in tables if (language in _UNSPACED) is unspaced for phrase in phrases]


def _spaced(phrases: Iterable[str]) -> str:
    either = "|".join(phrases)
    return rf"(?<!\w)(?:{either})(?![^\W{_SUFFIXED}])" if either else ""


# A value's ending in a script without spaces is no further letter of a Latin word.
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_SUFFIXED = "\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff"
# Every phrase of a script without spaces has one of these.
_SIGN = re.compile("[\u3001-\u9fff]")
# What may stand before a phrase that begins at a word of its own.
_LEAD = re.compile(r"\A(?:\(\?:\(\?![^()]*\)\[[^]]*\]\)|\[[^]]*\])\{0,\d+\}\?(?=(?:\(\?<!\w+ \))*\(\?<!\\w\))")


@cache
def cue_pattern(kind: str) -> re.Pattern[str]:
    """A table of cues, to be searched for."""
    return re.compile(cue(kind))


@cache
def known_words() -> frozenset[str]:
    """Words that nearly every sentence has one of, in the languages that are known."""
    return frozenset(word for words in _tables()["words"].values() for word in words)


@cache
def vocabulary() -> frozenset[str]:
    """Every word of the tables, and so of the languages that are known."""
    phrases = (phrase for tables in _tables().values() for row in tables.values() for phrase in row)
    return frozenset(word for phrase in phrases for word in _LETTERS.findall(phrase))


def compiled(pattern: str, *kinds: str) -> re.Pattern[str]:
    """Compile a pattern in which `<kind>` stands for a table of cues and `M` for a value."""
    pattern = pattern.replace("M", MARK)
    for kind in kinds:
        pattern = pattern.replace(f"<{kind}>", cue(kind))
    return re.compile(pattern)


@cache  # the text of such a pattern has thousands of characters
def any_of(kinds: tuple[str, ...]) -> re.Pattern[str]:
    """Any of these tables, to be searched for."""
    return re.compile("|".join(map(cue, kinds)))


def has_any(text: str, kinds: tuple[str, ...]) -> bool:
    """Whether a text has a phrase of any of these tables: most answers have none. As `any_of` would find, and sooner:
    what may stand before a phrase is not looked at, nor phrases of scripts that the text is not in.
    """
    spaced, unspaced = _either(kinds)
    return spaced.search(text) is not None or (_SIGN.search(text) is not None and unspaced.search(text) is not None)


@cache
def _either(kinds: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    spaced = _spaced(_LEAD.sub("", phrase) for phrase in _phrases(kinds))
    unspaced = "|".join(_phrases(kinds, unspaced=True))
    return re.compile(spaced.replace("M", MARK)), re.compile(unspaced.replace("M", MARK))
