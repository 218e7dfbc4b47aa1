"""The comparison under all of L-Eval's exam scores (`em.py` at cd34b05), and what the scorers of this package share.

Its quirks are kept: a strict subset of the right letters is worth 0.25 however small it is; a reference of nothing but
punctuation is equal to every answer of nothing but punctuation; and outside letters a reference counts wherever it
stands in the answer as a piece of text.
"""

from __future__ import annotations

import re
import string

from needlework.scoring.scores import Reference, Score, Verdict
from needlework.scoring.verdicts import expected_text, verdict_for

OPTIONS = "ABCD"
SUBSET = 0.25
SHOWN = 160
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def squashed(text: str) -> str:
    """Without ASCII punctuation and lower-case articles, single spaces; capitals stay."""
    return " ".join(_ARTICLES.sub(" ", text.translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> float:
    """Compare an answer with the reference, both already extracted: 0, 0.25 or 1."""
    said, wanted = squashed(prediction), squashed(gold)
    if all(char in OPTIONS for char in wanted):  # also where nothing is left of the reference
        return 1.0 if said == wanted else SUBSET if set(said) <= set(wanted) else 0.0
    try:
        return float(float(prediction) == float(gold))
    except ValueError:
        return float(gold.lower().replace(" ", "") in prediction.lower().replace(" ", ""))


def gold_of(reference: Reference) -> str:
    """Return L-Eval's one reference of an item. Raises `ValueError` where there is none."""
    return reference.answers[0] if reference.answers else expected_text(reference)


def judged(value: float, answer: str, taken: str, gold: str, why: str = "") -> Score:
    """Make the score of an answer, of which `taken` was compared with `gold`; both stand in its details."""
    verdict: Verdict = verdict_for(value, answer, partial_from=SUBSET)
    right = "equal" if value == 1 else f"{taken[:60]!r} is not {gold[:60]!r}"
    return Score(value, verdict, taken[:SHOWN], why or right, {"taken": taken, "gold": gold})
