"""The stability probe summed up: what counts as a changed answer, and what says nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from needlework.core.record import Record
from needlework.results.statistics.run_facts import Flips, stability_of

Make = Callable[..., Record]
FIRST = {"outcome": "wrong", "score": 0.0, "response": {"text": "9"}}


@pytest.mark.parametrize(
    ("text", "outcome", "score", "flips"),
    [
        ("9", "wrong", 0.0, Flips(asked=1)),
        ("8", "wrong", 0.0, Flips(asked=1, texts=1)),
        ("No.", "refused", 0.0, Flips(asked=1, texts=1, scores=1)),  # another outcome of the same score
        ("", "censored", None, Flips(asked=1, texts=1, scores=1)),
        ("4711", "found", 1.0, Flips(asked=1, texts=1, scores=1)),
        ("", "error", None, Flips(unanswered=1)),
    ],
)
def test_a_flip_is_another_text_and_another_outcome_or_score(
    make_record: Make, text: str, outcome: str, score: float | None, flips: Flips
) -> None:
    again = {"how": "warm", "text": text, "outcome": outcome, "score": score}
    record = make_record(**FIRST, details={"stability": [again]})
    found = stability_of([record])

    assert found is not None
    assert found.flips == found.by_how["warm"] == flips
    assert found.flipped == ((record.id,) if flips.texts else ())


def test_no_probe_is_no_finding(make_record: Make) -> None:
    assert stability_of([make_record()]) is None
