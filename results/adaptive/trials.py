"""Which repeats of a cell are the trials of a walk, and what their outcomes say of its looks."""

from __future__ import annotations

from collections.abc import Mapping

from needlework.results.adaptive.design import MOST_LOOK
from needlework.results.adaptive.walk import Seen

_TRIES = 5
_LOST = 1  # a single trial without a score is no sign of anything


def replacements_from(unit: int) -> int:
    """The first repeat that may replace another: no look of any mode comes so far."""
    return MOST_LOOK * unit


def seen(outcomes: Mapping[int, float | None], n: int, unit: int, max_errors: float) -> Seen:
    """What is known of a length's first `n` trials. `outcomes`: by repeat, the score (0..1), `None` for none.

    A trial without a score is replaced by the repeat of so many more than any look has, at the same depth: it is never
    taken for a miss. More than `max_errors` percent of them, and more than one: the length cannot be measured.
    """
    step, scores, missing, lost, exhausted = replacements_from(unit), [], [], 0, False
    for trial in range(n):
        for repeat in range(trial, trial + _TRIES * step, step):
            if repeat not in outcomes:
                missing.append(repeat)
                break
            score = outcomes[repeat]
            if score is not None:
                scores.append(score)
                break
            lost += 1
        else:
            exhausted = True
    hopeless = exhausted or lost > max(_LOST, max_errors * n / 100)
    return Seen(tuple(scores), tuple(missing), lost, hopeless)
