"""The pace of a run, and what it says of the time that another one takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from needlework.core.record import PromptFacts, Record, Timing
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.run.open_folder import SessionPace, last_pace, pace_facts, pace_of, time_lines
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


@pytest.fixture
def settings(tmp_path: Path):
    return replace(resolve_settings({"model": ["mock:perfect"]}, {}, tmp_path), results_dir=tmp_path)


def write(folder: Path, pace: object, model: str = "mock:perfect") -> None:
    folder.mkdir()
    text = json.dumps({"options": {"model": [model], "base_url": None}, "pace": pace})
    (folder / "manifest.json").write_text(text)


def test_the_last_run_of_the_same_model_tells_the_time(settings, tmp_path: Path) -> None:
    assert time_lines(settings, [1000]) == []
    write(tmp_path / "other", pace_facts(SessionPace(1, 9000, 1.0)), model="mock:half")
    write(tmp_path / "broken", {"trials": "many"})
    write(tmp_path / "mine", pace_facts(SessionPace(4, 8000, 4.0)))

    assert last_pace(settings) == ("mine", SessionPace(4, 8000, 4.0))
    (line,) = time_lines(settings, [120_000, 240_000])
    assert line == "at 2,000 prompt tokens a second, the pace of run mine (trials: 4): at most 3 min, 2 min a trial"
    (line,) = time_lines(replace(settings, tokens_per_s=100.0), [1000])
    assert line == "at 100 prompt tokens a second: at most 10 s, 10 s a trial"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.234, "0.23 s"), (4, "4 s"), (59, "59 s"), (90, "2 min"), (3601, "1 h 0 min"), (12_000, "3 h 20 min")],
)
def test_durations(seconds: float, told: str) -> None:
    assert duration(seconds) == told
