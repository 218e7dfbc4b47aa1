"""What was asked for, and whether a name in an answer is the same.

The key is what follows the last `for` or `of` of the question (`the code for the copper lantern`), in Chinese and
Japanese what stands before its 的 or の. Names are compared by their words, in Cyrillic letters too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal

from needlework.scoring.answers.cues import known_words
from needlework.scoring.answers.folding import MARK, closed_up, spaced_alike, table

Owner = Literal["asked", "other", "unread", ""]
"""`unread`: something is named that cannot be compared with what was asked; empty: nothing is named."""

_OF = re.compile(
    r"(?<!\w)(?:for|of|fur|von|de|del|du|des|para|pour|у|для)\s+"
    r"(?:(?:the|la|le|el|los|las|der|die|das|den)\s+)?([^?.,;:!]+)|(?<!\w)d'([^?.,;:!]+)"
)
_UNSPACED = re.compile(r"([^的の\s,。、？?「」“”\"]{2,16})[的の]")
_WORD = re.compile(r"[^\W_]+")
_CYRILLIC = str.maketrans(
    dict(zip("абвгдезиклмнопрстуфхцыэ", "abvgdeziklmnoprstufhcye", strict=True))
    | {"ж": "zh", "ч": "ch", "ш": "sh", "щ": "sch", "ю": "yu", "я": "ya", "ь": "", "ъ": ""}
)
_STEM = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for: the words of its key, every word of the question, and the question.

    `unspaced`: the key in a script that is written without spaces.
    """

    key: frozenset[str]
    words: frozenset[str]
    unspaced: str = ""
    question: str = ""


@cache
def owner_words() -> Mapping[str, frozenset[str]]:
    """The tables of `data/owners.toml`."""
    read = tomllib.loads(table("owners.toml"))
    return MappingProxyType({name: frozenset(words.split()) for name, words in read.items()})


@lru_cache(1024)
def asked_for(question: str) -> Asked:
    """Read a folded question; the key is empty where it names none."""
    words = frozenset(_content(question))
    unspaced = None if question.isascii() else _UNSPACED.search(closed_up(question))
    if unspaced is not None and not unspaced[1].isascii():
        return Asked(frozenset([unspaced[1]]), words, unspaced[1], question)
    for slot in [found[1] or found[2] for found in _OF.finditer(question)][::-1]:
        for piece in filter(None, _OF.split(slot)):
            key = frozenset(word for word in _content(piece) if word not in owner_words()["nouns"])
            if key:
                return Asked(key, words, question=question)
    return Asked(frozenset(), words, question=question)


def compare(named: Sequence[str], asked: Asked, *, sure: bool) -> Owner:
    """Compare the words of a name with what was asked for; `sure`: they stand where an owner is named."""
    words = [word for phrase in named for word in _content(phrase)]
    if not words or owner_words()["generic"].intersection([*named, *words]):
        return ""
    if has_key(words, asked):
        return "asked"
    if all(any(is_same(word, known) for known in asked.words) for word in words):
        return "asked" if shares_key(words, asked) else ""
    if not sure:
        return ""
    alone = len(words) == 1 and len(asked.key) > 1
    return "unread" if alone or _script(words) != _script(asked.key) else "other"


def has_key(words: Iterable[str], asked: Asked) -> bool:
    """Whether every word of the key is there."""
    given = list(words)
    return all(any(is_same(word, key) for word in given) for key in asked.key)


def shares_key(words: Iterable[str], asked: Asked) -> bool:
    """Whether a word of the key is there."""
    return any(is_same(word, key) for word in words for key in asked.key)


@lru_cache(1024)
def without_key(sketch: str, asked: Asked) -> str:
    """Blank out the key where it stands whole: `the old mill` says nothing of what is old. Every place stays."""
    if asked.unspaced:
        key = spaced_alike(asked.unspaced)
        return sketch.replace(key, "~" * len(key))
    if len(asked.key) < 2 or not all(word in sketch for word in asked.key):
        return sketch
    words = list(_WORD.finditer(sketch))
    for first, last in zip(words, words[len(asked.key) - 1 :], strict=False):
        if first[0] in asked.key and last[0] in asked.key:
            start, end = first.start(), last.end()
            if asked.key <= set(_WORD.findall(sketch, start, end)) and MARK not in sketch[start:end]:
                sketch = f"{sketch[:start]}{'x' * (end - start)}{sketch[end:]}"
    return sketch


def is_same(word: str, other: str) -> bool:
    """Whether two words are one, but for an ending or the alphabet."""
    if word == other:
        return True
    if word > "\u0400" or other > "\u0400":
        word, other = word.translate(_CYRILLIC), other.translate(_CYRILLIC)
    if word.removesuffix("s") == other.removesuffix("s"):
        return True
    size = min(len(word), len(other))
    return size >= _STEM and word[: max(_STEM, size - 2)] == other[: max(_STEM, size - 2)]


def _content(text: str) -> Iterator[str]:
    return (word for word in _WORD.findall(text) if word not in _passed() and not word.isdigit())


@cache
def _passed() -> frozenset[str]:
    return owner_words()["fillers"] | known_words()


def _script(words: Iterable[str]) -> bool:
    return any(word[0] > "\u2e80" for word in words)
