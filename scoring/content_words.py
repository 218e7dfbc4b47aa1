"""The words of a text that say something, and the share of a reference's that an answer has."""

from collections.abc import Iterator
from functools import lru_cache

import regex

from needlework.scoring.plain_text import Span, normalize

# Content-word recall is what agrees best with judges on questions about documents: of an answer, at least 0.3 of the
# reference's (1,055 judged records of snorkel's long-context-eval: 92 % agreement, kappa 0.77). Substrings do not do.
_CONTENT_WORDS_LETTERS = r"[\w--[_\p{Han}\p{Hiragana}\p{Katakana}]]++"
# Plain letters before a plain character come first: sets of properties take three times as long.
_PLAIN = r"[a-z0-9]++(?=[\n -&(-\-/-~])"
_WORD = regex.compile(
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
    """The words of a text without function words, and without endings of English plurals and verbs.

    Text without spaces between words (Chinese, Japanese) counts by pairs of neighbouring characters. A text that has
    function words alone counts these.
    """
    words = _words(normalize(text))
    return frozenset[str]().union(*map(_content, words)) or words


def words_to_look_up(text: str) -> frozenset[str]:
    """The content and function words of a text: all that `content_words` of a part of it can be."""
    return frozenset[str]().union(*(_content(word) or (word,) for word in _words(normalize(text))))


def content_word_places(plain: str) -> Iterator[tuple[str, Span]]:
    """Each content word of a text from `normalize`, with its span; none of function words alone."""
    for match in _WORD.finditer(plain):
        for word, start, end in _parts(match[0]):
            yield word, Span(match.start() + start, match.start() + end)


def _words(plain: str) -> frozenset[str]:
    return frozenset(_WORD.findall(plain))


@lru_cache(_REMEMBERED)
def _content(word: str) -> frozenset[str]:
    return frozenset(part for part, _, _ in _parts(word))


def _parts(word: str) -> Iterator[tuple[str, int, int]]:
    """The content words that a match of `_WORD` is, with start and end in it; of a function word none."""
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
    """A word without an ending: `walks`, `walked`, `walking` are one.
    Wrong for some words, but the same for both texts."""
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending).removesuffix("e") + ("y" if ending == "ies" else "")
    return word.removesuffix("e") if len(word) > 4 else word
