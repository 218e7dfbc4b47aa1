"""The pace of a run, and what it says of the time that another one takes."""

from __future__ import annotations

import pytest

from needlework.core.record import PromptFacts, Record, Timing
from needlework.results.run.session import SessionPace, pace_of
from needlework.results.style import duration


def record(tokens=1000, outcome="found", replayed=False):
    return Record(
        model="m", task="niah", needle="code", length=1000, depth=50.0, repeat=0, outcome=outcome,
        score=1.0 if outcome == "found" else None, prompt=PromptFacts(tokens=tokens), timing=Timing(replayed=replayed),
    )  # fmt: skip


def test_what_was_asked_now_makes_the_pace() -> None:
    now = [record(), record(3000), record(replayed=True), record(outcome="error")]
    assert pace_of(now, 2.0) == SessionPace(2, 4000, 2.0)
    assert pace_of([record(replayed=True)], 2.0) is None


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.234, "0.23 s"), (4, "4 s"), (59, "59 s"), (90, "2 min"), (3601, "1 h 0 min"), (12_000, "3 h 20 min")],
)
def test_durations(seconds: float, told: str) -> None:
    assert duration(seconds) == told
