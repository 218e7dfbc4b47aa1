"""What a comparison's page says first."""

from __future__ import annotations

from needlework.results.html.comparison_head import verdict_sentence
from needlework.results.statistics.comparison.comparison import compare
from tests.results.html.pages import MakeRecord


def test_the_verdict_comes_first_with_its_points(make_record: MakeRecord) -> None:
    def said(outcome: str, tasks: tuple[str, ...] = ("niah",), count: int = 12) -> str:
        first = [make_record(task=task, repeat=i) for task in tasks for i in range(count)]
        second = [make_record(task=task, repeat=i, outcome=outcome) for task in tasks for i in range(count)]
        return verdict_sentence(compare(first, second).families, ("old", "new"))

    assert said("wrong").startswith("new is worse than old: -100.0 points (95 % sure: ")
    assert said("found").startswith("No difference between old and new is shown: 0.0 points")
    assert said("wrong", ("niah", "chain")) == "new is worse on 2 of 2 tasks than old."
    assert said("found", ("niah", "chain")) == "No difference between old and new is shown on any of 2 tasks."
    assert said("wrong", count=2).startswith("Too few samples tell old and new apart")
    assert verdict_sentence([], ("old", "new")) == "old and new have no question in common."
