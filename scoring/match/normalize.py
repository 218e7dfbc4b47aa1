"""Normal forms of answers, and the values in them."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate
from typing import Any, NamedTuple

# The tables of cues are folded in the same way, so that they can be compared.
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


CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


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
    return strip_marks(files("needlework.scoring.match").joinpath("data", name).read_text("utf-8"))


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
    """Normalise and keep line breaks: every run of white space becomes one space, or one line feed if it had one.

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
        text = _GROUPED.sub(_join_digits, text)
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


def _join_digits(match: re.Match[str]) -> str:
    return match[0].replace(match[1], "")


# ECMA-48: control sequences (colours, cursor), strings (titles, links) up to their end, and two-character escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)


def without_escapes(text: str) -> str:
    """The text as a terminal would show it: without the sequences that only control it."""
    return text if text.isascii() and "\x1b" not in text else _ESCAPES.sub("", text)


# A value is whole when nothing next to it would make it part of a longer one. What that means depends
# on the character at its edge: a digit may not touch digits, letters, a decimal point or a sign; a
# letter may not touch letters, digits, or a hyphen or apostrophe that joins another word; CJK and
# other scripts that are written without spaces need no boundary, except that a numeral may not stand
# in a longer numeral (三 in 十三).
_CJK_NUMERALS = frozenset("〇零一二三四五六七八九十百千万萬亿億两兩壹贰叁肆伍陆柒捌玖拾佰仟")
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x11FF), (0x1780, 0x17FF), (0x2E80, 0xABFF), (0xAC00, 0xD7FF), (0xF900, 0xFAFF))
_SUPPLEMENTARY_CJK = (0x20000, 0x3FFFF)
_CODE = re.compile(r"[a-z0-9-]{6,}")
_INNER_PUNCTUATION = r"[\s,;:\"'()]+"
_MIN_DIGITS = 4


class Span(NamedTuple):
    """A piece of text, from `start` up to `end`."""

    start: int
    end: int


class Cover:
    """Spans that can be asked, in logarithmic time, whether one of them holds another."""

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted(spans)
        self._starts = [span.start for span in ordered]
        self._reach = list(accumulate((span.end for span in ordered), max))

    def holds(self, span: Span) -> bool:
        """Say whether `span` lies within one of the spans."""
        at = bisect_right(self._starts, span.start)
        return at > 0 and self._reach[at - 1] >= span.end


def find_whole(text: str, value: str) -> list[Span]:
    """Find `value` in `text` (both normalised, one line) wherever it stands as a whole value."""
    found: list[Span] = []
    if not value:
        return found
    numeral = all(char in _CJK_NUMERALS for char in value)
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        if _open_before(text, at, numeral) and _open_after(text, end, numeral):
            found.append(Span(at, end))
            at = text.find(value, end)
        else:
            at = text.find(value, at + 1)
    return found or _find_phrase(text, value)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether neither what stands before a piece of a text nor what follows it makes it a part of a longer value."""
    return _open_before(text, start, False) and _open_after(text, end, False)


def find_plain(text: str, piece: str) -> list[Span]:
    """Find `piece` in `text` wherever it stands, whole or not."""
    found: list[Span] = []
    at = text.find(piece) if piece else -1
    while at >= 0:
        found.append(Span(at, at + len(piece)))
        at = text.find(piece, at + len(piece))
    return found


def find_same_shape(text: str, value: str) -> list[Span]:
    """Find everything that looks like `value`: numbers with as many digits (4 or more), codes with as many signs.

    Words and names have no shape: an answer in prose is full of other words.
    """
    size = len(value)
    if value.isascii() and value.isdigit():
        if size < _MIN_DIGITS:
            return []
        return [Span(*match.span()) for match in _digits(size).finditer(text)]
    if not _CODE.fullmatch(value) or not any(char.isdigit() for char in value):
        return []
    hyphens = [place for place, char in enumerate(value) if char == "-"]
    return [
        Span(*match.span())
        for match in _code_of(size).finditer(text)
        if any(char.isdigit() for char in match[0])
        and [place for place, char in enumerate(match[0]) if char == "-"] == hyphens
    ]


@lru_cache(256)
def _digits(size: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![\d.a-z_])\d{{{size}}}(?!\d|\.\d|[a-z_])")


@lru_cache(256)
def _code_of(size: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9-])[a-z0-9-]{{{size}}}(?![a-z0-9-])")


def _find_phrase(text: str, value: str) -> list[Span]:
    """Find a phrase of three words or more with other punctuation between its words (`a sandwich, and sit`)."""
    words = value.split()
    if len(words) < 3 or not all(word.strip(",;:\"'()") in text for word in words):
        return []
    stripped = [word.strip(",;:\"'()") for word in words]
    pattern = _INNER_PUNCTUATION.join(re.escape(word) for word in stripped if word)
    spans = [Span(*match.span()) for match in re.finditer(pattern, text)]
    return [span for span in spans if is_whole(text, *span)]


def _open_before(text: str, start: int, numeral: bool) -> bool:
    if start == 0:
        return True
    first, before, further = text[start], text[start - 1], text[start - 2] if start > 1 else ""
    if numeral:
        return before not in _CJK_NUMERALS
    if not _is_word(first):
        return True
    if _is_word(before):
        return False
    if before == "-" and (_is_word(further) or first.isdigit()):
        return False
    if before == "'" and further.isalpha() and first.isalpha():
        return False
    if not (first.isdigit() and further.isdigit()):
        return True
    return before not in ".:" and not (before == "," and _is_short_group(text, start))


def _open_after(text: str, end: int, numeral: bool) -> bool:
    if end == len(text):
        return True
    last, after, further = text[end - 1], text[end], text[end + 1 : end + 2]
    if numeral:
        return after not in _CJK_NUMERALS
    if not _is_word(last):
        return True
    if _is_word(after) or (after == "-" and _is_word(further)):
        return False
    if not (last.isdigit() and further.isdigit()):
        return True
    return after not in ".:" and not (after == "," and _is_short_group(text, end + 1))


def _is_short_group(text: str, start: int) -> bool:
    """Say whether one or two digits start here: behind a comma they are decimals (`1234,5`), not another number."""
    return not text[start : start + 3].isdigit()


def _is_word(char: str) -> bool:
    """Say whether a character belongs to a word of a script that puts spaces between words."""
    if not char or char.isascii():
        return char.isalnum() or char == "_"
    if not (char.isalnum() or unicodedata.category(char)[0] == "M"):
        return False
    code = ord(char)
    low, high = _SUPPLEMENTARY_CJK
    return not (low <= code <= high or any(first <= code <= last for first, last in _UNSPACED))
