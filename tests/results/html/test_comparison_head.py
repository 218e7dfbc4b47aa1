"""What a comparison's page says first."""

from __future__ import annotations

from needlework.core.record import Record
from needlework.results.html.comparison import several_sentence, verdict_sentence
from needlework.results.statistics.comparison.comparison import compare
from needlework.results.statistics.comparison.many_runs import Base, compare_several
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


def test_of_several_runs_it_says_which_is_which(make_record: MakeRecord) -> None:
    right = [make_record(repeat=at) for at in range(12)]
    wrong = [make_record(repeat=at, outcome="wrong") for at in range(12)]

    def said(base: Base = "first", **runs: list[Record]) -> str:
        return several_sentence(compare_several({"a": right, **runs}, base))

    told = said(b=wrong, c=right, d=wrong)
    assert told == "Against a, b and d are worse (-100.0, -100.0 points); no difference is shown for c."
    told = said("previous", b=wrong, c=right)
    assert told == "Against the run before it, b is worse (-100.0 points); c is better (+100.0 points)."
    assert said(**dict.fromkeys("bcdef", wrong)).startswith("Against a, b, c, d and 2 more are worse (-100.0 to -100.0")
    assert said(b=wrong[:2], c=[]) == "Against a, too few samples tell of b; c is not compared."
