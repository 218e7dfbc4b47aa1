"""Sentences about runs with undecided answers, and what would make them surer."""

from collections.abc import Callable

import pytest

from needlework.core.record import OutcomeName, Record
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import headline_of

Make = Callable[..., Record]
Counts = dict[OutcomeName, int]
RANGE = "mock scores between 50.0 and 100 % at 500 to 1k tokens"
CUT = "80 of 160 answers cut off."


def said(make_record, *counts, finish="length"):
    """Of a run with so many outcomes at 500, 1k and 2k tokens."""
    records = [
        make_record(length=length, repeat=at, outcome=outcome, response={"finish_reason": finish})
        for length, by_outcome in zip((500, 1000, 2000), counts, strict=False)
        for at, outcome in enumerate(outcome for outcome, count in by_outcome.items() for _ in range(count))
    ]
    return headline_of(run_report(records))


@pytest.mark.parametrize(
    ("at_500", "at_1k", "sentence"),
    [
        ({"found": 40, "censored": 40}, {"found": 40, "censored": 40}, f"{RANGE}; {CUT}"),
        ({"found": 80}, {"censored": 80}, f"{RANGE}; {CUT}"),
    ],
)
def test_a_length_that_undecided_answers_decide_is_not_told(make_record, at_500, at_1k, sentence):
    told = said(make_record, at_500, at_1k)

    assert told.sentence == sentence
    assert told.next_run is not None
    assert "--answer-budget" in told.next_run.what


@pytest.mark.parametrize("lost", ["error", "skipped", "invalid"])
def test_a_length_without_a_score_is_not_one_that_the_score_is_at(make_record, lost):
    assert ") at 500 to 1k tokens;" in said(make_record, {"found": 8}, {"found": 8}, {lost: 8}).sentence


def test_what_undecided_answers_leave_open_and_what_they_do_not(make_record):
    few = said(make_record, {"found": 5, "unclear": 1}, {"found": 6}).sentence
    assert "held" not in few
    assert few.endswith("by the rule.")
    assert said(make_record, {"found": 200, "censored": 1}, {"found": 200}).lead == (
        "mock holds RULER's 85.6 % at every length, up to 1k tokens (95 % sure)"
    )


def test_answers_that_ended_before_the_limit_need_no_room(make_record):
    assert said(make_record, {"found": 6, "censored": 6}, {"found": 12}, finish="unfinished").next_run is None


@pytest.mark.parametrize(
    ("outcome", "clause"),
    [("found", "; weakest in the middle of the text;"), ("censored", "500 to 1k tokens; 1 of 73 answers cut off.")],
)
def test_no_depth_is_named_where_answers_are_undecided(make_record, outcome, clause):
    records = [
        make_record(length=length, depth=depth, repeat=repeat, outcome="wrong" if depth == 50.0 else "found")
        for length in (500, 1000)
        for depth in (0.0, 50.0, 100.0)
        for repeat in range(12)
    ]
    records.append(make_record(length=500, depth=0.0, repeat=12, outcome=outcome))
    assert clause in headline_of(run_report(records)).sentence
