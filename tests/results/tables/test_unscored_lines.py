"""Why trials have no score is told in a line for each reason."""

from __future__ import annotations

from typing import Any

from needlework.core.record import Record, record_of
from needlework.results.tables.panels import unscored_lines


def record(outcome: str, why: str = "", *invalid: str) -> Record:
    details: dict[str, Any] = {"invalid": list(invalid)} if invalid else {}
    return record_of(
        {"model": "m", "task": "niah", "needle": "code", "length": 1000, "depth": 50.0, "repeat": 0}
        | {"outcome": outcome, "score": 1.0 if outcome == "found" else None, "why": why, "details": details}
    )


def test_one_line_for_each_reason() -> None:
    records = [
        record("found"),
        record("skipped", "length 900 is over the window"),
        record("invalid", "token_mismatch: counted 8", "token_mismatch"),
        record("invalid", "server_truncated: counted 4", "server_truncated"),
        record("invalid", "server_truncated: counted 5", "server_truncated"),
        record("error", "boom"),
    ]
    assert unscored_lines(records) == [
        "invalid: 2 trials: server_truncated: counted 4",
        "invalid: 1 trial: token_mismatch: counted 8",
        "skipped: 1 trial: length 900 is over the window",
    ]


def test_nothing_to_tell() -> None:
    assert unscored_lines([record("found"), record("censored", "cut off")]) == []


def test_a_servers_words_are_data() -> None:
    said = unscored_lines([record("invalid", "x: \x1b[31mred\x1b[0m\nline " + "a" * 1000, "x")])
    assert len(said) == 1
    assert "\x1b" not in said[0]
    assert len(said[0]) < 330
