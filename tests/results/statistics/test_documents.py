"""Questions on documents: rates by hand, votes, and retrieval beside the whole documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.gates.gate import groups_of, parse_gate
from needlework.results.statistics.comparison.comparison import compare
from needlework.results.statistics.documents import arm_scores, document_statistics, medoid, votes
from needlework.results.statistics.paired import mean_difference
from needlework.results.statistics.panels import summarise
from needlework.results.statistics.tasks import task_scores
from tests.results.builders import asked, new_record


def scores_of(records, vote=0):
    (scores,) = document_statistics(records, vote)
    return scores


def test_best_and_worst_depth_are_compared_by_question():
    worst, best = [0] * 9 + [1] * 3, [1] * 11 + [0]
    records = [asked(q, "found" if hit else "wrong", depth=depth) for depth, hits in ((25.0, worst), (100.0, best))
               for q, hit in enumerate(hits)]  # fmt: skip
    depth = scores_of(records).depth

    assert (depth.extremes.best, depth.extremes.worst, depth.samples) == ((100.0, 100.0), (25.0, 25.0), 12)
    # Ten questions differ, nine of them one way: of 1,024 orders 22 are as uneven.
    assert depth.extremes.p == pytest.approx(22 / 1024, abs=0.01)


def test_orders_of_a_question_are_one_sample_of_the_depth_effect():
    records = [
        asked(q, "found" if (d == 100.0 or r) else "wrong", depth=d, repeat=r)
        for q in range(12) for d in (0.0, 100.0) for r in range(2)
    ]  # fmt: skip
    depth = scores_of(records).depth

    assert (depth.samples, depth.left_out) == (12, 0)
    assert (depth.extremes.best_score, depth.extremes.worst_score) == (1.0, 0.5)


def test_what_size_costs_is_paired_by_question():
    large = [1.0] * 8 + [0.0] * 4
    records = [asked(q, task="doc_size", arm="focused", length=2000) for q in range(13)]  # one has no pair
    records += [asked(q, "found" if hit else "wrong", task="doc_size") for q, hit in enumerate(large)]
    records += [asked(q, task="doc_size", length=4000) for q in range(12)]

    assert scores_of(records).loss == mean_difference([hit - 1.0 for hit in large], range(12))


def test_absent_arms_are_twins_of_the_same_question_in_another_task():
    present = ["found", "found", "refused", "wrong"]
    absent = ["found", "wrong", "found", "wrong"]  # `found` there: it abstains
    records = [asked(q, o) for q, o in enumerate(present)]
    records += [asked(q, o, task="doc_absent", arm="absent") for q, o in enumerate(absent)]
    records += [asked(q, "wrong", task="doc_absent", arm="near") for q in range(4)]
    records += [asked(q, "wrong", task="doc_size") for q in range(4)]  # the search asks them at the same length
    records += [asked(0, length=4000), asked(0, arm="bm25")]  # no twins of these
    arms = scores_of(records).absent
    sizes = [
        asked(q, task=task, arm=arm) for q in range(3) for task, arm in (("doc_size", ""), ("doc_absent", "absent"))
    ]

    assert list(arms) == ["absent", "near"]
    rates = (arms["absent"].hallucination, arms["absent"].needless, arms["absent"].discriminates)
    assert [(rate.value, rate.n) for rate in rates] == [(0.5, 4), (0.25, 4), (0.25, 4)]
    assert arms["absent"].balanced.value == 0.5
    assert (arms["near"].hallucination.value, arms["near"].discriminates.value) == (1.0, 0.0)
    assert scores_of(sizes).absent["absent"].discriminates.value == 1.0, "without depths sizes are the present arm"


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
    moved, fixed = vote_of(records, "moved", None), vote_of(records, "fixed", None)

    assert (moved.n, moved.voted.value) == (3, 1.0)
    assert (fixed.n, fixed.voted.value) == (3, pytest.approx(2 / 3))
    assert moved.single.value == fixed.single.value == pytest.approx(2 / 3)


def ask(scores, *, arm=""):
    """A question of each document, with these scores, as L-Eval's are."""
    facts = {"embedder": None, "k": 4, "chunk_size": 1000, "chunk_overlap": 200, "unit": "characters"}
    facts |= {"retriever": arm, "gold": None, "rank": None, "answer_recall": None}
    records = []
    for number, score in enumerate(scores):
        needle, prompt, reference = f"doc{number}_q0", {"tokens": 9000}, {"answers": ["a"]}
        if arm:
            reference |= {"retriever": arm, "twin": needle}
            prompt, needle = {"tokens": 1000, "retrieval": facts}, f"{needle}_{arm}"
        fields = {"outcome": "error" if score is None else "partial", "score": score, "prompt": prompt}
        records.append(new_record(task="leval_tpo", needle=needle, depth=None, reference=reference, **fields))
    return records


def test_an_arm_is_compared_with_the_same_questions_on_the_whole_documents():
    records = ask([1.0, 1.0, 0.0, 1.0, None]) + ask([1.0, 0.0, 0.0, None, 1.0], arm="bm25")
    (row,) = arm_scores(records)
    (task,) = task_scores(records)

    assert (row.score.n, row.score.mean) == (4, 0.5)
    assert (task.overall.n, task.overall.mean) == (4, 0.75), "nothing retrieved is in a task's score"
    assert {panel.needle: panel.overall.n for panel in summarise(records)} == {"questions": 4, "questions_bm25": 4}
    assert row.paired.difference.n == 3  # two questions have no score on one side
    assert (row.paired.arm, row.paired.whole) == pytest.approx((1 / 3, 2 / 3))
    assert row.paired.difference.mean == pytest.approx(-1 / 3)
    assert row.paired.difference.low is None  # three samples
    assert (row.paired.arm_tokens, row.paired.whole_tokens) == (1000, 9000)


def test_gates_and_comparisons_see_what_was_retrieved_only_where_nothing_else_was_asked():
    both, alone = ask([1.0, 0.0]) + ask([1.0, 0.0], arm="bm25"), ask([1.0, 1.0], arm="bm25")
    counts = [
        len(groups_of(parse_gate(gate), both)["all"]) for gate in ("score >= 0.9", "score >= 0 [retriever = bm25]")
    ]

    assert counts == [2, 2]
    assert {record.needle for record in groups_of(parse_gate("score >= 0.9"), both)["all"]} == {"doc0_q0", "doc1_q0"}
    assert [compare(*pair).whole.n for pair in ((both, both), (both, alone), (alone, alone))] == [2, 2, 2]
