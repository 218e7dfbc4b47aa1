"""Texts of models and users as the page can show them: nothing invisible, nothing endless, safe inside a script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite

from markupsafe import Markup

# Whole, or its beginning, the number of characters left out, and its end. The number stands apart from the text, so
# that the mark on the page cannot be forged by a text that looks like one.
Shown = str | list[str | int]

_SURROGATES = re.compile(r"[\ud800-\udfff]")
_BREAKS = re.compile(r"\r\n?")
# C0 but tab and newline, DEL, C1, and what reorders the text after it: embeddings, overrides and isolates. The marks
# U+200E, U+200F and U+061C stay: right-to-left languages need them, and they move nothing but their neighbours.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def visible(text: str) -> str:
    """Show control characters as pictures (`␛`) or code points; half a surrogate pair becomes U+FFFD."""
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub(_picture, _BREAKS.sub("\n", text)))


def shown(text: str, limit: int) -> Shown:
    """Return `text` as the page shows it: two thirds of `limit` characters of its beginning, the rest of its end."""
    if len(text) <= limit:
        return visible(text)
    head = limit * 2 // 3
    tail = limit - head
    return [visible(text[:head]), len(text) - limit, visible(text[len(text) - tail :] if tail else "")]


def facts_text(value: object, limit: int) -> Shown | None:
    """Return any JSON value as indented text; `None` where it says nothing."""
    if value in (None, {}, [], ""):
        return None
    return shown(json.dumps(_plain(value), ensure_ascii=False, indent=1), limit)


def script_json(value: object) -> str:
    """Return compact JSON that can stand in a `<script>` element, whatever is in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_SCRIPT)
    return _SURROGATES.sub("\ufffd", text)


def trusted(text: str) -> Markup:
    """Mark our own style sheet, script or `script_json` text as ready for the template."""
    return Markup(text)  # noqa: S704 - never called with a text of a model or a user


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _plain(value: object) -> object:
    """Sort the keys of objects; words for numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
