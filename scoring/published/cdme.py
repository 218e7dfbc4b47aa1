"""CDME's edit-distance score (OpenCompass 120bf8b3, `cdme.py`), one pair or many at a time.

Formula: all white space is removed from both; `100 * (1 - levenshtein / max(len))`, 100 when both are empty.
Code points, unit costs. `trim` first cuts the prediction to `int(1.2 * len(reference))` characters, then behind the
first character equal to the reference's last at or after `int(0.8 * len(reference))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import expected_keyword, expected_text, verdict_for


@dataclass(frozen=True, slots=True)
class EditScore:
    """One pair: the score 0..100, the distance, and the two strings that were compared."""

    score: float
    distance: int
    prediction: str
    reference: str


def squeeze(text: str) -> str:
    """Remove all white space; the same characters as `re.sub(r"\\s+", "", text)`."""
    return "".join(text.split())


def trim_prediction(prediction: str, reference: str) -> str:
    """Cut a squeezed prediction to about the reference's length (CDME's `use_trim`)."""
    shortest = int(0.8 * len(reference))
    trimmed = prediction[: int(1.2 * len(reference))]
    at = trimmed.find(reference[-1], shortest) if reference else -1
    return trimmed[: at + 1] if at >= 0 else trimmed


def levenshtein(first: str, second: str) -> int:
    """Count the insertions, deletions and substitutions of code points that make `second` of `first`."""
    return Levenshtein.distance(first, second)


def edit_score(prediction: str, reference: str, *, trim: bool = False) -> EditScore:
    """Score one prediction 0..100 by its edit distance to the reference."""
    left, right = _prepare(prediction, reference, trim)
    distance = Levenshtein.distance(left, right)
    longest = max(len(left), len(right))
    return EditScore(100 * (1 - distance / longest) if longest else 100.0, distance, left, right)


def edit_scores(predictions: Sequence[str], references: Sequence[str], *, trim: bool = False) -> list[float]:
    """Score many pairs 0..100; the same numbers as `edit_score`, in one call to rapidfuzz."""
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions but {len(references)} references")
    if not predictions:
        return []
    pairs = [_prepare(left, right, trim) for left, right in zip(predictions, references, strict=True)]
    lefts = [left for left, _ in pairs]
    rights = [right for _, right in pairs]
    distances = cpdist(lefts, rights, scorer=Levenshtein.distance, dtype=np.int64)
    longest = np.array([max(len(left), len(right)) for left, right in pairs], dtype=np.int64)
    scores = 100 * (1 - distances / np.maximum(longest, 1))
    return [float(score) for score in np.where(longest == 0, 100.0, scores)]


def batch_mean(scores: Sequence[float]) -> float:
    """Average as CDME does: a sum from left to right over the count, 0 for no scores."""
    return sum(scores) / len(scores) if scores else 0.0


def _prepare(prediction: str, reference: str, trim: bool) -> tuple[str, str]:
    left, right = squeeze(prediction), squeeze(reference)
    return (trim_prediction(left, right) if trim else left), right


def _judge(answer: str, reference: Reference, trim: bool) -> Score:
    expected = expected_text(reference)
    result = edit_score(answer, expected, trim=trim)
    value = result.score / 100
    # Any answer has some letters of the right one, so the score does not say whether it is right: the keyword does.
    known = squeeze(expected_keyword(reference)) in squeeze(answer)
    verdict = "found" if known else verdict_for(0.0, answer)
    details: dict[str, float | str | int | bool | None]
    details = {"edit_distance": result.distance, "compared_with": expected}
    return Score(value, verdict, result.prediction[:200], f"edit distance {result.distance}", details)


CDME = Scorer("cdme", 2, lambda answer, reference: _judge(answer, reference, False))
CDME_TRIM = Scorer("cdme_trim", 2, lambda answer, reference: _judge(answer, reference, True))
