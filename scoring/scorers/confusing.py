"""Which wrong statement won: `match`, and of a known wrong value where it stands and what it is.

For contexts whose distractors are all known: each wrong value has a place and, where it makes sense, a kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from needlework.scoring.answers.normalize import normalize_value
from needlework.scoring.scorers.match import match_score
from needlework.scoring.scores import Reference, Score, Scorer

STALE = "stale"
Entry = TypeVar("Entry")


def confusion_score(answer: str, reference: Reference) -> Score:
    """Judge as `match` does; a known wrong value also says which one it was.

    Details of a wrong value: `distance` in percent of the context from the right statement to the wrong one (negative:
    the wrong one stands before it), `confused` (its kind), and, where there are stale values, whether it is one.
    """
    score = match_score(answer, reference)
    if score.verdict != "distractor":
        return score
    details = dict(score.details)
    right = next((reference.places[value] for value in reference.answers if value in reference.places), None)
    wrong = _entry(reference.places, score.answer)
    if right is not None and wrong is not None:
        details["distance"] = round(wrong - right, 2)
    kind = _entry(reference.kinds, score.answer)
    if kind is not None:
        details["confused"] = kind
    if STALE in reference.kinds.values():
        details["stale"] = kind == STALE
    return replace(score, details=details)


def _entry(table: Mapping[str, Entry], value: str) -> Entry | None:
    """What a table has for a normalised value."""
    return next((entry for name, entry in table.items() if normalize_value(name) == value), None)


CONFUSION = Scorer("confusion", 3, confusion_score)
