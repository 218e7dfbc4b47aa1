"""Texts of models and users as the page can show them: nothing invisible, nothing endless, safe inside a script."""

from __future__ import annotations

import json
import re

from markupsafe import Markup

from needlework.haystack_fixtures.writing.json_encoder import encoder_of
from needlework.results.style.text import fit, one_line, percent1

# Whole, or its beginning, the number of characters left out, and its end. The number stands apart from the text, so
# that the mark on the page cannot be forged by a text that looks like one.
Shown = str | tuple[str, int, str]

_SURROGATES = re.compile(r"[\ud800-\udfff]")
_BREAKS = re.compile(r"\r\n?")
# C0 but tab and newline, DEL, C1, noncharacters, and what reorders the text after it: embeddings, overrides, isolates.
# The marks U+200E, U+200F and U+061C stay: right-to-left languages need them, and they move only their neighbours.
_UNSEEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff"
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_CHANGED = re.compile(rf"[{_UNSEEN}\ud800-\udfff]")
_NONCHARACTERS = re.compile(r"[\ufdd0-\ufdef]")
_ESCAPES = tuple((mark, f"\\u{ord(mark):04x}") for mark in "<>&\u2028\u2029")  # what ends a script, or a line of it
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_facts = encoder_of(json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str))


def visible(text: str) -> str:
    """Show control characters as their code points, `⟨U+001B⟩`; half a surrogate pair becomes U+FFFD."""
    if (text.isascii() and text.isprintable()) or not _CHANGED.search(text):
        return text
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub(_code_point, _BREAKS.sub("\n", text)))


def without_marks(text: str) -> str:
    """Remove noncharacters: some tokenizers set special tokens apart with them."""
    return text if text.isascii() else _NONCHARACTERS.sub("", text)


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
    """A score in 0..1 as the percent that the page prints, rounded by the rule of `percent1`."""
    value = float(percent1(score))
    return int(value) if value.is_integer() else value


def is_cut(value: object) -> bool:
    """Whether `value` is a text that `shown` shortened."""
    return isinstance(value, tuple) and len(value) == 3 and isinstance(value[1], int)


def facts_text(value: object, limit: int) -> Shown | None:
    """Return any JSON value as text, keys in order; `None` where it says nothing."""
    return None if value in (None, {}, [], "") else shown(_facts(value), limit)


def script_json(value: object) -> str:
    """Return compact JSON that can stand in a `<script>` element, whatever is in it."""
    return script_safe(_ENCODER.encode(value))


def script_safe(text: str) -> str:
    """The same of JSON that is written already."""
    for mark, escape in _ESCAPES:
        if mark in text:
            text = text.replace(mark, escape)
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def trusted(text: str) -> Markup:
    """Mark our own style sheet, script or `script_json` text as ready for the template."""
    return Markup(text)  # noqa: S704 - never called with a text of a model or a user


def _code_point(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"
