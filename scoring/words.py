"""Phrases in every language and the names of months, units and numbers: `words.toml`, and of `match` `claims.toml`."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files

import regex

from needlework.scoring.plain_text import Span, normalize

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


# Content-word recall is what agrees best with judges on questions about documents: of an answer, at least 0.3 of the
# reference's (1,055 judged records of snorkel's long-context-eval: 92 % agreement, kappa 0.77). Substrings do not do.
_CONTENT_WORDS_LETTERS = r"[\w--[_\p{Han}\p{Hiragana}\p{Katakana}]]++"
# Plain letters before a plain character come first: sets of properties take three times as long.
_PLAIN = r"[a-z0-9]++(?=[\n -&(-\-/-~])"
_LATIN_WORD = regex.compile(
    rf"{_PLAIN}|[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}]++|{_CONTENT_WORDS_LETTERS}(?:['.]{_CONTENT_WORDS_LETTERS})*+",
    regex.V1,
)
_CONTENT_WORDS_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_CHINESE_PARTICLES = regex.compile("[的了着过是在和与或把被也就都而吗呢吧啊之其及]")
_IN_EVERY_TEXT = """
a about above after again all also although am an and any are as at be because been before being below between both
but by can could did do does doing down during each either even every few for from further had has have having he
her here hers herself him himself his how however i if in into is it its itself just many may me might more most
much must my myself neither no nor not now of off on once only onto or other our ours ourselves out over own rather
same shall she should since so some such than that the their theirs them themselves then there these they this those
though through thus to too under until up upon us very was we were what when where whether which while who whom
whose why will with within without would yet you your yours yourself yourselves answer document documents text
passage context according based mentioned stated
"""
_FUNCTION_WORDS = frozenset(_IN_EVERY_TEXT.split())
_REMEMBERED = 1 << 16  # words: documents have most of theirs in common


def content_words(text: str) -> frozenset[str]:
    """The words of a text without those that every text has, endings of English plurals and verbs taken off.

    Text without spaces between words (Chinese, Japanese) counts by pairs of neighbouring characters. A text that has
    function words alone counts these.
    """
    words = _words(normalize(text))
    return frozenset[str]().union(*map(_content, words)) or words


def words_to_look_up(text: str) -> frozenset[str]:
    """The content words of a text, and its function words as well: all that `content_words` of a part of it can be."""
    return frozenset[str]().union(*(_content(word) or (word,) for word in _words(normalize(text))))


def content_word_places(plain: str) -> Iterator[tuple[str, Span]]:
    """Each content word of a text from `normalize`, and where it stands there; of a text of function words none."""
    for match in _LATIN_WORD.finditer(plain):
        for word, start, end in _parts(match[0]):
            yield word, Span(match.start() + start, match.start() + end)


def _words(plain: str) -> frozenset[str]:
    return frozenset(_LATIN_WORD.findall(plain))


@lru_cache(_REMEMBERED)
def _content(word: str) -> frozenset[str]:
    return frozenset(part for part, _, _ in _parts(word))


def _parts(word: str) -> Iterator[tuple[str, int, int]]:
    """The content words that a match of `_LATIN_WORD` is, with start and end in it; of a function word none."""
    if _CONTENT_WORDS_UNSPACED.match(word):
        start = 0
        for part in _CHINESE_PARTICLES.split(word):
            size = min(len(part), 2)
            for at in range(start, start + len(part) - size + 1 if part else start):
                yield word[at : at + size], at, at + size
            start += len(part) + 1
    elif word.removesuffix("'s") not in _FUNCTION_WORDS:
        yield _stem(word.removesuffix("'s")), 0, len(word)


def _stem(word: str) -> str:
    """A word without an ending, so that `walks`, `walked`, `walking` are one; wrong for some words, the same for both
    texts."""
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending).removesuffix("e") + ("y" if ending == "ies" else "")
    return word.removesuffix("e") if len(word) > 4 else word
