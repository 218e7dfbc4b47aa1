"""Voting: which answer is elected, which trials vote together, what it gains and costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.report.documents import document_sections
from needlework.results.report.section import section_lines
from needlework.results.statistics.documents import document_statistics
from needlework.results.statistics.votes import medoid, votes
from tests.results.document_records import asked


@pytest.mark.parametrize(
    ("answers", "elected"),
    [
        (["Oruro", "Potosi", "Oruro"], 0),
        (["Potosi", "Oruro", "Oruro"], 1),
        (["Potosi", "a dish called Oruro", "Oruro"], 1),  # of two that are like each other alone, the first
        (["one", "other", "third"], 0),
        (["", "", "Oruro"], 0),
        (["red wine and cheese", "wine", "wine and cheese"], 2),
        (["北京", "上海", "北京大学"], 0),
    ],
)
def test_the_answer_that_is_most_like_the_others_is_elected(answers, elected):
    assert medoid(answers) == elected


@given(st.lists(st.text(max_size=20), min_size=1, max_size=6))
def test_some_answer_is_elected_and_a_majority_always_wins(answers):
    majority = ["Oruro"] * (len(answers) + 1) + answers

    assert 0 <= medoid(answers) < len(answers)
    assert majority[medoid(majority)] == "Oruro"


def series(hits, question=0, depth=25.0):
    """`+`, `-`, or `!` for an error, for each repeat."""
    outcomes = {"+": "found", "-": "wrong", "!": "error"}
    return [asked(question, outcomes[hit], depth=depth, repeat=repeat) for repeat, hit in enumerate(hits)]


def vote_of(records, ways="fixed", depth=25.0):
    (vote,) = [each for each in votes(records, 3) if (each.ways, each.depth) == (ways, depth)]
    return vote


def test_a_majority_of_right_answers_beats_a_single_one():
    vote = vote_of([record for q in range(12) for record in series("++-" if q else "---", question=q)])

    assert (vote.n, vote.of, vote.arm, vote.voted.n, vote.single.n) == (12, 3, "whole", 12, 36)
    assert (vote.voted.value, vote.single.value, vote.gain.mean) == pytest.approx((11 / 12, 22 / 36, 11 / 36))
    assert vote.gain.clusters == 12


def test_a_rest_of_repeats_and_a_group_with_an_answer_that_has_no_score_are_left_out():
    rest, error = vote_of(series("+++---++")), vote_of(series("++!"))

    assert (rest.n, rest.requests, rest.tokens) == (2, 6, 6 * (8000 - 64 + 4))
    assert (error.n, error.incomplete, error.requests, error.voted.value) == (0, 1, 0, None)
    assert votes(series("+++"), 0) == document_statistics(series("+++"))[0].votes == (), "nobody asked for votes"


def test_the_answer_document_moves_or_stays_where_it_is():
    """At depth 0 every order fails; a vote over three depths has two right answers."""
    hits = {0.0: "---", 25.0: "+++", 50.0: "+++"}
    records = [record for depth, hit in hits.items() for record in series(hit, depth=depth)]
    moved, fixed, control = vote_of(records, "moved", None), vote_of(records, "fixed", None), vote_of(records)

    assert (moved.n, moved.voted.value) == (3, 1.0)
    assert (fixed.n, fixed.voted.value) == (3, pytest.approx(2 / 3))
    assert (control.n, control.voted.value) == (1, 1.0)
    assert moved.single.value == fixed.single.value == pytest.approx(2 / 3)


def test_the_table_tells_gain_and_cost():
    lines = section_lines(document_sections(document_statistics(series("++-") + series("+++", question=1), 3)))

    (row,) = [line.split() for line in lines if line.strip().startswith("doc_position")]
    assert row[-2:] == ["6", "47,640"]
    assert "  voting: 3 answers a question: 3 times the requests and tokens of a single one" in lines
