"""Where an answer ends: a model that was shown examples goes on with questions of its own."""

from __future__ import annotations

import re

_NEXT_QUESTION = re.compile(r"\n\s*(?:Question|Q)\s*\d*\s*[:.]")


def first_reply(answer: str) -> str:
    """The answer up to where it asks the next question; all of it where it opens with one."""
    text = answer.strip()
    return _NEXT_QUESTION.split(text, maxsplit=1)[0]
