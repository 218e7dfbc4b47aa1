"""The stability probe summed up: what counts as a changed answer, and what says nothing."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from needlework.core.record import Record
from needlework.results.files.json_files import json_text
from needlework.results.statistics.run_facts import Flips
from needlework.results.statistics.run_report import run_report


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
    make_record: Callable[..., Record], text: str, outcome: str, score: float | None, flips: Flips
) -> None:
    again = {"how": "warm", "text": text, "outcome": outcome, "score": score}
    record = make_record(outcome="wrong", score=0.0, response={"text": "9"}, details={"stability": [again]})
    report = run_report([record])

    assert report.stability is not None
    assert report.stability.flips == report.stability.by_how["warm"] == flips
    assert report.stability.flipped == ((record.id,) if flips.texts else ())
    assert json.loads(json_text(report))["stability"]["flips"]["asked"] == flips.asked
    assert report.notes[0].startswith(
        f"stability: 1 cells asked again {flips.asked} times (warm {flips.asked}): the text"
    )
    assert run_report([make_record()]).stability is None
