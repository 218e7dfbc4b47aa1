"""Questions on documents: rates by hand, whose trials belong together, and what is compared with what."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.files.json_files import results_bytes
from needlework.results.report.documents import document_sections
from needlework.results.report.section import section_lines
from needlework.results.statistics.comparison.comparison import compare
from needlework.results.statistics.documents import document_statistics
from needlework.results.statistics.intervals import score_interval
from needlework.results.statistics.paired import mean_difference
from needlework.results.statistics.panels import asked_of
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.tasks import task_scores
from tests.results.changed import changed
from tests.results.clopper_pearson import clopper_pearson
from tests.results.document_records import asked


def scores_of(records, vote=0):
    (scores,) = document_statistics(records, vote)
    return scores


def point_at(points, depth=50.0):
    (point,) = [each for each in points if (each.arm, each.length, each.depth) == ("whole", 8000, depth)]
    return point


def test_by_depth_wrong_answers_are_told_apart():
    outcomes = ["found", "found", "wrong", "wrong", "wrong", "refused", "empty", "censored"]
    point = point_at(scores_of([asked(q, o) for q, o in enumerate(outcomes)]).by_depth)

    assert (point.score.value, point.score.n) == (2 / 7, 7)
    assert (point.score.low, point.score.high) == pytest.approx(clopper_pearson(2 / 7, 7))
    assert (point.abstains.value, point.asserts.value) == (1 / 7, 3 / 7)
    assert point.unscored == {"censored": 1}


def test_intervals_take_the_trials_of_a_question_together():
    records = [asked(q, "found" if q % 2 else "wrong", repeat=r) for q in range(20) for r in range(5)]
    point = point_at(scores_of(records).by_depth)
    apart = score_interval([float(q % 2) for q in range(20) for _ in range(5)], range(100))

    assert (point.questions, point.score.n) == (20, 100)
    assert point.score.low < apart.low


def test_by_size_the_answer_document_alone_comes_first_and_each_retriever_has_a_curve():
    records = [asked(0, task="doc_size", arm=arm, length=n) for arm in ("", "bm25") for n in (4000, 2000)]
    points = scores_of([*records, asked(0, task="doc_size", arm="focused", length=2000)]).by_size
    pooled = scores_of([asked(0, o, task="doc_size", depth=d) for o, d in (("found", 0.0), ("wrong", 100.0))])

    assert [(each.arm, each.length) for each in points] == [
        ("focused", 0), ("whole", 2000), ("whole", 4000), ("bm25", 2000), ("bm25", 4000),
    ]  # fmt: skip
    assert [each.tokens for each in points[:2]] == [800, 1800]
    assert point_at(pooled.by_size, None).score.value == 0.5, "depths of a size are pooled"


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
    (row,) = task_scores(asked_of([record for record in records if record.length != 4000]))

    assert scores_of(records).loss == mean_difference([hit - 1.0 for hit in large], range(12))
    assert row.relative.value == pytest.approx(8 / 12)
    assert row.relative.low is not None


def test_absent_arms_are_twins_of_the_same_question_in_another_task():
    present = ["found", "found", "refused", "wrong"]
    absent = ["found", "wrong", "found", "wrong"]  # `found` there: it abstains
    records = [asked(q, o) for q, o in enumerate(present)]
    records += [asked(q, o, task="doc_absent", arm="absent") for q, o in enumerate(absent)]
    records += [asked(q, "wrong", task="doc_absent", arm="near") for q in range(4)]
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


def test_the_offline_rule_stands_beside_the_judge():
    counts = {("found", "found"): 8, ("wrong", "wrong"): 6, ("found", "wrong"): 4, ("wrong", "refused"): 2}
    verdicts = [pair for pair, count in counts.items() for _ in range(count)]
    judge = scores_of([asked(q, judge, rule=rule) for q, (judge, rule) in enumerate(verdicts)]).judge

    assert (judge.n, judge.agreement.value) == (20, 0.8)
    assert judge.kappa.value == pytest.approx((0.8 - (0.4 * 0.6 + 0.6 * 0.4)) / (1 - 0.48))
    assert scores_of([asked(0)]).judge is None


def test_they_are_printed_and_written_alike_whatever_the_order_of_the_records():
    records = [asked(q, o, depth=d) for q, o in enumerate(["found", "wrong", "refused"]) for d in (0.0, 100.0)]
    records += [asked(q, task="doc_size", arm=arm) for q in range(3) for arm in ("", "bm25", "focused")]
    records += [asked(q, task="doc_absent", arm="near") for q in range(3)]
    lines = section_lines(document_sections(document_statistics(records)))

    assert lines == section_lines(document_sections(document_statistics(records[::-1])))
    assert lines[0] == "mock · your documents · 3 questions"
    shown = [line.split() for line in lines]
    rates = ["33.3", "(0.8–90.6)"]
    assert ["all", "documents", "8k", "0", "33.3", "0.8–90.6", "3", *rates, *rates] in shown
    assert ["answer", "document", "alone", "–", "800", "100", "29.2–100", "3", *["0", "(0–70.8)"] * 2] in shown
    assert any(line.startswith("  the most similar one instead") for line in lines)
    written, reverse = (json.loads(results_bytes(run_report(each)))["documents"] for each in (records, records[::-1]))
    assert written == reverse
    assert written[0]["by_depth"][0]["abstains"]["value"] == pytest.approx(1 / 3)
    assert json.loads(results_bytes(run_report([changed(asked(0), task="niah")])))["documents"] == []
    plain = section_lines(document_sections(document_statistics(records)), ascii_only=True)
    assert all(map(str.isascii, plain))


def test_an_arm_without_scores_has_no_rate():
    scores = scores_of([asked(0, "error"), asked(0, "error", task="doc_size")])
    (section,) = document_sections([scores])

    assert [row[3:] for row in section.tables[0].rows] == [("–", "–", "0", "–", "–", "1 error")]
    assert section.findings == ()


@given(st.lists(st.sampled_from(["found", "wrong", "refused", "empty", "error"]), min_size=1, max_size=12))
def test_shares_of_a_point_sum_up(outcomes):
    point = scores_of([asked(q, o) for q, o in enumerate(outcomes)]).by_depth[0]
    parts = [point.score.value, point.abstains.value, point.asserts.value]

    if point.score.n:
        blank = outcomes.count("empty") / point.score.n
        assert sum(part or 0 for part in parts) + blank == pytest.approx(1)
    assert point.score.n + outcomes.count("error") == len(outcomes)


def test_two_runs_are_compared_over_all_questions_and_not_one_by_one():
    first = [asked(q, "found" if q < 6 else "wrong", depth=d) for q in range(12) for d in (0.0, 100.0)]
    second = [asked(q, "found", depth=d) for q in range(12) for d in (0.0, 100.0)]
    (task,) = compare(first, second).tasks

    assert task.family == ("", "doc_position", "questions")
    assert (task.whole.n, *task.whole.means, task.whole.difference.clusters) == (24, 0.5, 1.0, 12)
