"""Steps in the names of runs and models."""

from __future__ import annotations

import pytest

from needlework.results.records.samples import began, step_of


@pytest.mark.parametrize(
    ("names", "step"),
    [
        (["step1000"], 1000),
        (["nightly", "hf:out/checkpoint-500"], 500),
        (["llama3-step_2k"], 2000),
        (["7b-tokens=1.5B"], 1.5e9),
        (["llama3 epoch 2, step 40"], 40),
        (["run-3-of-7"], 7),
        (["main", "smollm2"], 2),
        (["main", "other"], None),
    ],
)
def test_the_step_of_a_name(names: list[str], step: float | None) -> None:
    assert step_of(names) == step


def test_when_a_run_began() -> None:
    assert began({"started": "2026-01-02T03:04:05"}) == began({"started": "2026-01-02T04:04:05+01:00"})
    assert began({"started": "soon"}) is began({}) is None
