"""Is an answer in a language that the rules can read?"""

from __future__ import annotations

import re
import unicodedata

from needlework.scoring.answers.cues import vocabulary
from needlework.scoring.answers.folding import MARK

_WORD = re.compile(r"[^\W\d_]+")
_FEW_WORDS = 4
_KNOWN_SHARE = 4
_SCRIPTS = (
    "LATIN",
    "CYRILLIC",
    "GREEK",
    "ARABIC",
    "HEBREW",
    "DEVANAGARI",
    "HANGUL",
    "HIRAGANA",
    "KATAKANA",
    "CJK",
    "THAI",
)


def is_readable(sketch: str, familiar: str) -> bool:
    """Whether the words around the values belong to a language that is known; `familiar`: the question and the needle.

    Few words say nothing of their language, and the values need none.
    """
    words = _WORD.findall(sketch.replace(MARK, " "))
    if len(words) < _FEW_WORDS:
        return True
    if not all(char.isascii() or _known_script(char) for char in {word[0] for word in words}):
        return False
    if any(word[0] >= "\u0370" for word in words):
        return True
    passed = set(_WORD.findall(familiar)) - vocabulary()
    strange = [word for word in words if word not in passed]
    known = sum(word in vocabulary() for word in strange)
    return len(strange) < _FEW_WORDS or known * _KNOWN_SHARE >= len(strange)


def _known_script(char: str) -> bool:
    return unicodedata.name(char, "").startswith(_SCRIPTS)
