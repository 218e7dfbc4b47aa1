"""Questions on documents (L-Eval): all of a task are one panel, and those of one document are one sample.

Questions with a retriever (`doc3_q7_bm25`) are a panel of their own.
"""

from __future__ import annotations

import re

from haystack_fixtures.tasks.load import family_of

PANEL = "questions"
_LABEL = re.compile(r"doc(?P<document>\d+)_q(?P<question>\d+)(?P<retriever>_[a-z0-9]+)?")
# What its questions share is a prompt of worked examples: nothing that makes them alike.
_APART = "leval_gsm100"


def panel_and_sample(task: str, needle: str, repeat: int) -> tuple[str, int]:
    """Return the panel that a trial belongs to, and its sample: needle and repeat, unless it asks about a document."""
    label = _LABEL.fullmatch(needle) if family_of(task) == "leval" else None
    if label is None:
        return needle, repeat
    return f"{PANEL}{label['retriever'] or ''}", int(label["question" if task == _APART else "document"])
