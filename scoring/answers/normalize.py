"""Text normalisation for our own matcher: two texts that say the same value become the same string.

The published rules (`edit_distance`, `keyword`, `exact`) keep their systems' own normalisation and do not use this.
"""

from __future__ import annotations

import re
import unicodedata

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
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
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
