"""Terminal control sequences in an answer: colours and titles that no reader sees, and that no rule may judge."""

from __future__ import annotations

import re

# ECMA-48: control sequences (colours, cursor), strings (titles, links) up to their end, and two-character escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)


def without_escapes(text: str) -> str:
    """The text as a terminal would show it: without the sequences that only control it."""
    return text if text.isascii() and "\x1b" not in text else _ESCAPES.sub("", text)
