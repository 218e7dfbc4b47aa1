"""Sentences about runs with undecided answers, and what would make them surer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from needlework.core.record import OutcomeName, Record
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import Headline, headline_of

Make = Callable[..., Record]
RANGE = "scores between 50.0 and 100 % at 500 to 1k tokens"
HOLDS = "holds RULER's 85.6 % up to 500 tokens at least (95 % sure)"
CUT = "80 of 160 answers were cut off: "


def records_of(make_record: Make, by_length: dict[int, dict[OutcomeName, int]]) -> list[Record]:
    found = []
    for length, counts in by_length.items():
        outcomes = [outcome for outcome, count in counts.items() for _ in range(count)]
        found += [make_record(length=length, repeat=at, outcome=outcome) for at, outcome in enumerate(outcomes)]
    return found


def said(records: list[Record], repeats: int | None = None) -> Headline:
    told = {"suites": [{"task": "niah", "repeats": repeats}]} if repeats else {}
    return headline_of(run_report(records, facts=run_facts(told, "r")))


@pytest.mark.parametrize(
    ("at_500", "at_1k", "sentence"),
    [
        ((40, 40), (40, 40), f"{RANGE}; {CUT}no word on effective length"),
        ((80, 0), (0, 80), f"{HOLDS}; {RANGE}; {CUT}no more on effective length"),
    ],
)
def test_a_length_that_undecided_answers_decide_is_not_told(
    make_record: Make, at_500: tuple[int, int], at_1k: tuple[int, int], sentence: str
) -> None:
    found = said(
        records_of(
            make_record,
            {500: {"found": at_500[0], "censored": at_500[1]}, 1000: {"found": at_1k[0], "censored": at_1k[1]}},
        )
    )

    assert found.sentence == f"mock {sentence} until they are decided."
    assert found.next_run is not None
    assert "--answer-budget" in found.next_run.what


@pytest.mark.parametrize("lost", ["error", "skipped", "invalid"])
def test_a_length_without_a_score_is_not_one_that_the_score_is_at(make_record: Make, lost: OutcomeName) -> None:
    found = said(records_of(make_record, {500: {"found": 8}, 1000: {"found": 8}, 2000: {lost: 8}}))

    assert ") at 500 to 1k tokens;" in found.sentence


def test_one_unclear_answer_of_few_leaves_the_length_open(make_record: Make) -> None:
    found = said(records_of(make_record, {500: {"found": 5, "unclear": 1}, 1000: {"found": 6}}))

    assert "held" not in found.sentence
    assert found.sentence.endswith("by the rule: no word on effective length until it is decided.")


def test_a_length_that_no_undecided_answer_changes_is_told(make_record: Make) -> None:
    found = said(records_of(make_record, {500: {"found": 200, "censored": 1}, 1000: {"found": 200}}))

    assert found.lead == (
        "mock holds RULER's 85.6 % at every length, up to 1k tokens (95 % sure) whatever the undecided answers were"
    )


def test_repeats_are_counted_from_the_command_and_not_from_an_older_session(make_record: Make) -> None:
    records = [
        make_record(length=length, repeat=repeat)
        for length, repeats in ((500, 4), (1000, 2), (2000, 4))
        for repeat in range(repeats)
    ]

    proof = "to prove a length, as far as every answer is right"
    assert said(records, repeats=2).next_run == NextRun(proof, 24)
    assert said(records, repeats=24).next_run is None
    one_length = [record for record in records if record.length == 500]
    assert said(one_length, repeats=2).next_run == NextRun("for an interval half as wide", 8)
    assert said(one_length).next_run == NextRun("for an interval half as wide", 16)


def test_answers_that_ended_before_the_limit_need_no_room(make_record: Make) -> None:
    records = records_of(make_record, {500: {"found": 6, "censored": 6}, 1000: {"found": 12}})
    for record in records:
        record.response.finish_reason = "unfinished"

    assert said(records).next_run is None


def test_depths_are_told_of_undecided_answers_only_where_they_are_shown(make_record: Make) -> None:
    def asked(undecided: OutcomeName) -> str:
        records = [
            make_record(length=length, depth=depth, repeat=repeat, outcome="wrong" if depth == at_wrong else "found")
            for length in (500, 1000)
            for depth, at_wrong in ((0.0, 50.0), (50.0, 50.0), (100.0, 50.0))
            for repeat in range(12)
        ]
        records.append(make_record(length=500, depth=0.0, repeat=12, outcome=undecided))
        return said(records).sentence

    assert "; weakest in the middle of the text;" in asked("found")
    assert "; weakest in the middle of the text by the answers that have a score;" in asked("censored")
