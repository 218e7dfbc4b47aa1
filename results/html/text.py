"""Texts of models and users that are safe in the page."""

from __future__ import annotations

import json
import re

from markupsafe import Markup

from needlework.results.style import fit, one_line, percent1

# Whole, or its beginning, the number of characters left out, and its end. The number stands apart from the text, so
# that the mark on the page cannot be forged by a text that looks like one.
Shown = str | tuple[str, int, str]

_SURROGATES = re.compile(r"[\ud800-\udfff]")
# C0 but tab and newline, DEL, C1, noncharacters, and what reorders the text after it: embeddings, overrides, isolates.
# The marks U+200E, U+200F and U+061C stay: right-to-left languages need them, and they move only their neighbours.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]")
_NONCHARACTERS = re.compile(r"[\ufdd0-\ufdef]")
_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}  # what ends a script, or a line of it


def visible(text: str) -> str:
    """Show control characters as their code points, `⟨U+001B⟩`; half a surrogate pair becomes U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    text = _INVISIBLE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _SURROGATES.sub("\ufffd", text)


def without_marks(text: str) -> str:
    """Remove noncharacters: some tokenizers set special tokens apart with them."""
    return _NONCHARACTERS.sub("", text)


def shown(text: str, limit: int) -> Shown:
    """Return `text` as the page shows it: two thirds of `limit` characters of its beginning, the rest of its end."""
    if len(text) <= limit:
        return visible(text)
    head = limit * 2 // 3
    return visible(text[:head]), len(text) - limit, visible(text[head - limit :])


def on_one_line(text: str, columns: int = 300) -> str:
    """Return a name or a sentence: one line, not endless, and nothing in it that moves the text after it."""
    return visible(fit(one_line(text), columns, "…"))


def percent_number(score: float) -> int | float:
    """Return a score in 0..1 as the percent that the page prints, rounded by the rule of `percent1`."""
    value = float(percent1(score))
    return int(value) if value.is_integer() else value


def script_json(value: object) -> str:
    """Return compact JSON that can stand in a `<script>` element, whatever is in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _SURROGATES.sub("\ufffd", text.translate(_ESCAPES))


def trusted(text: str) -> Markup:
    """Mark our own style sheet, script or `script_json` text as ready for the template."""
    return Markup(text)  # noqa: S704 - never called with a text of a model or a user
