"""The plain form of texts that all scorers compare, whole values in it, and its words that say something."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import regex

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HAN_NUMERALS = "〇零一二三四五六七八九两兩十百千万萬亿億"
"""Han that say a number; what is in a row is one number, or none."""
# The published rules (`edit_distance`, `keyword`, `exact`) keep their systems' own normalisation and do not use this.
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»「」『』〝〞＂", '"'),
        **dict.fromkeys("‘’‚‛ʼ′＇", "'"),
        **dict.fromkeys("‐‑−－", "-"),
        # Invisible characters that models and web pages leave between letters.
        **dict.fromkeys("\u00ad\u200b\u200e\u200f\u2060\ufeff", ""),
        # NFKC would turn a footnote mark into one more digit of the number before it.
        **{mark: f"^{digit}" for digit, mark in enumerate(_SUPERSCRIPTS)},
        # Thin spaces group digits; NFKC would make them plain spaces, which do not.
        "\u2009": "_",
        "\u202f": "_",
    }
)
_THIN_SPACE = re.compile(r"(?<!\d)_|_(?!\d)")
_GROUPED = re.compile(r"(?<![\d.])(?<!\d[,'_])\d{1,3}(?:([,'_])\d{3})(?:\1\d{3})*(?!\d|[,'_]\d)")
_STARS = re.compile(r"(?<![0-9a-zA-Z])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![0-9a-zA-Z])")
_UNDERSCORES = re.compile(r"(?<![^\W_])_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?![^\W_])")
_CJK_SPACE = re.compile(rf"(?<=[{CJK}]) (?=[{CJK}])")
_TRAILING = " .,;:!?。，；：！？、…\"'"
_LEADING = " \"'"


def normalize_lines(text: str) -> str:
    """Normalise and keep line breaks: white space becomes one space, or one line feed if it had one.

    NFKC and casefold, all decimal digits to 0-9, `1,234` to `1234`, curly quotes and dashes to ASCII, Markdown
    emphasis and back quotes removed, spaces between CJK characters removed.
    """
    if not text.isascii():
        text = _to_plain(text)
    text = text.casefold()
    if "*" in text:
        text = _STARS.sub("", text)
    if "_" in text:
        text = _UNDERSCORES.sub("", text)
    if "`" in text:
        text = text.replace("`", "")
    if "," in text or "'" in text or "_" in text:
        text = _GROUPED.sub(lambda match: match[0].replace(match[1], ""), text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    text = "\n".join([line for line in lines if line])
    return text if text.isascii() else _CJK_SPACE.sub("", text)


def normalize(text: str) -> str:
    """Normalise a text to one line, see `normalize_lines`."""
    return flatten(normalize_lines(text))


def flatten(lines: str) -> str:
    """Make one line of a text from `normalize_lines`; every character keeps its place."""
    return lines.replace("\n", " ")


def normalize_value(text: str) -> str:
    """Normalise a reference value: as `normalize`, without quotes around it and punctuation behind it."""
    value = normalize(text)
    return value.lstrip(_LEADING).rstrip(_TRAILING) or value


def _to_plain(text: str) -> str:
    marked = text.translate(_CHARACTERS)
    if "\u2009" in text or "\u202f" in text:
        marked = _THIN_SPACE.sub(" ", marked)
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", marked).casefold())
    # NFKC leaves the decimal digits of other scripts as they are.
    foreign: dict[str, str | int | None] = {
        char: str(unicodedata.decimal(char)) for char in set(plain) if char > "\x7f" and char.isdecimal()
    }
    return plain.translate(str.maketrans(foreign)) if foreign else plain


# A value is whole when nothing next to it would make it part of a longer one. What that means depends
# on the character at its edge: a digit may not touch digits, letters, a decimal point or a sign; a
# letter may not touch letters, digits, or a hyphen or apostrophe that joins another word; CJK and
# other scripts that are written without spaces need no boundary, except that a numeral may not stand
# in a longer numeral (三 in 十三). One or two digits behind a comma are decimals (`1234,5 km`)
# but at the end of a text.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\uabff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_SPACED = rf"[\p{{L}}\p{{N}}\p{{M}}_--[{_UNSPACED}]]"  # a character of a word between spaces
_OPEN_BEFORE = regex.compile(
    rf"(?!{_SPACED})(?:(?<![几幾数數])|(?![{HAN_NUMERALS}]))"
    rf"|(?={_SPACED})(?<!{_SPACED}-?)"
    r"(?:(?=\d)(?<!-|\d[.:])(?:(?<!\d,)|(?=\d{3}|\d\d?\Z))|(?=\p{L})(?<!\p{L}')|(?![\d\p{L}]))",
    regex.V1,
)
_OPEN_AFTER = regex.compile(
    rf"(?<!{_SPACED})|(?!-?{_SPACED})(?:(?<!\d)|(?![.:]\d|,\d(?!\d\d|\d?\Z)))",
    regex.V1,
)
_NUMERAL_BEFORE, _NUMERAL_AFTER = (re.compile(f"(?{look}[{HAN_NUMERALS}])") for look in ("<!", "!"))
_INNER_PUNCTUATION = r"[\s,;:\"'()]+"


class Span(NamedTuple):
    """A piece of text, from `start` up to `end`."""

    start: int
    end: int


def find_whole(text: str, value: str) -> list[Span]:
    """Find `value` in `text` (both normalised, one line) wherever it stands as a whole value."""
    spans: list[Span] = []
    numeral = all(char in HAN_NUMERALS for char in value)
    before, after = (_NUMERAL_BEFORE, _NUMERAL_AFTER) if numeral else (_OPEN_BEFORE, _OPEN_AFTER)
    at = text.find(value) if value else -1
    while at >= 0:
        end = at + len(value)
        is_open = before.match(text, at) and after.match(text, end)
        spans += [Span(at, end)] if is_open else []
        at = text.find(value, end if is_open else at + 1)
    return spans or _find_phrase(text, value)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a piece of a text is no part of a longer value, by its neighbours on both sides."""
    return bool(_OPEN_BEFORE.match(text, start) and _OPEN_AFTER.match(text, end))


def _find_phrase(text: str, value: str) -> list[Span]:
    """Find a phrase of three words or more despite other punctuation inside (`a sandwich, and sit`)."""
    words = [word.strip(",;:\"'()") for word in value.split()]
    if len(words) < 3 or not all(word in text for word in words):
        return []
    pattern = _INNER_PUNCTUATION.join(re.escape(word) for word in words if word)
    spans = [Span(*match.span()) for match in re.finditer(pattern, text)]
    return [span for span in spans if is_whole(text, *span)]


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
_TELLING = "[^的了着过是在和与或把被也就都而吗呢吧啊之其及]"  # characters that are no particles
_UNSPACED_PARTS = regex.compile(rf"{_TELLING}{{2}}|(?<!{_TELLING}){_TELLING}(?!{_TELLING})")
_FUNCTION_WORDS = frozenset(files("needlework.scoring").joinpath("function_words.txt").read_text("utf-8").split())
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
        for pair in _UNSPACED_PARTS.finditer(word, overlapped=True):
            yield pair[0], *pair.span()
    elif word.removesuffix("'s") not in _FUNCTION_WORDS:
        yield _stem(word.removesuffix("'s")), 0, len(word)


def _stem(word: str) -> str:
    """A word without an ending: `walks`, `walked`, `walking` are one.
    Wrong for some words, but the same for both texts."""
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending).removesuffix("e") + ("y" if ending == "ies" else "")
    return word.removesuffix("e") if len(word) > 4 else word
