"""What words say of the value beside them: the tables of `data/cues.toml` as regular expressions.

A text is given as a sketch: every value in it is the one character `MARK`. All languages are looked for at once, as
nobody tells in which one a model answers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
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
    tables = _tables()[kind]
    spaced = "|".join(phrase for language, phrases in tables.items() if language not in _UNSPACED for phrase in phrases)
    unspaced = "|".join(phrase for language in _UNSPACED for phrase in tables[language])
    parts = [rf"(?<!\w)(?:{spaced})(?![^\W{_SUFFIXED}])"] if spaced else []
    return f"(?:{'|'.join([*parts, *([unspaced] if unspaced else [])])})".replace("M", MARK)


# A value's ending in a script without spaces is no further letter of a Latin word.
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_SUFFIXED = "\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff"


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
    """Find whether a text has a word of any of these tables: most answers have none."""
    return re.compile("|".join(map(cue, kinds)))
