"""RULER's table: the mean of 13 tasks, weighted means over lengths, effective length."""

from __future__ import annotations

import pytest

from needlework.core.record import record_of
from needlework.results.files.json_files import json_text
from needlework.results.report.section import section_lines
from needlework.results.report.suites import ruler_sections
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.ruler import TASKS, ruler_object, ruler_tables, weighted
from tests.parity.cases import cases
from tests.results.changed import changed


def records(scores, *, length=4096, repeats=1, language="en", **fields):
    """A record for each task (all, or those of a mapping), with the task's score; a score of None is an error."""
    scores = dict.fromkeys(TASKS, scores) if not isinstance(scores, dict) else scores
    return [
        record_of(
            {
                "key": f"{task}{length}{repeat}",
                "model": "m",
                "task": task,
                "needle": "words",
                "language": language,
                "length": length,
                "depth": None,
                "repeat": repeat,
                "outcome": "error" if score is None else "found" if score == 1 else "partial" if score else "wrong",
                "score": score,
                "scorer": "ruler_part" if "qa" in task else "ruler_all",
                "reference": {},
                "details": {"score": {"strict": (score or 0) / 2}},
            }
            | fields
        )
        for task, score in scores.items()
        for repeat in range(repeats)
    ]


def test_the_mean_weighs_every_task_the_same():
    asked = records(1.0, repeats=2) + records(1.0, repeats=5)[2:5]
    wrong = records({"ruler_vt": 0.0}, repeats=2)
    (table,) = ruler_tables([each for each in asked if each.task != "ruler_vt"] + wrong)
    (at,) = table.lengths
    assert at.mean == pytest.approx(12 / 13)
    assert at.strict == pytest.approx(6 / 13)
    assert at.low < at.mean < at.high
    assert table.increasing is table.decreasing is None


def test_a_length_without_all_13_tasks_has_no_mean_and_says_which_are_missing():
    some = dict.fromkeys(TASKS[:-1], 1.0) | {"ruler_fwe": None}
    (table,) = ruler_tables(records(some))
    (at,) = table.lengths
    assert (at.mean, at.strict, at.missing, at.unscored) == (None, None, ("ruler_fwe", "ruler_qa_2"), 1)
    assert section_lines(ruler_sections([table])) == [
        "RULER · m · en",
        "  score: the mean of 13 tasks, each weighing the same",
        "  length  score %   n  unscored",
        "  4096          –  11         1",
        "  4096: no mean, as there is no score for fwe, qa_2",
    ]


def test_answers_cut_off_before_anything_right_count_as_0():
    cut = records(1.0, repeats=2)
    cut[0] = changed(cut[0], outcome="censored", score=None)
    (table,) = ruler_tables(cut)
    (at,) = table.lengths
    assert at.mean == pytest.approx((12 + 0.5) / 13)
    assert (at.n, at.cut, at.unscored) == (26, 1, 0)


def test_controls_and_other_tasks_are_left_out():
    control = records(0.0, reference={"control": "focused"})
    other = records({"niah": 0.0})
    (table,) = ruler_tables(records(1.0) + control + other)
    assert table.lengths[0].mean == 1
    assert ruler_tables(other) == ()


def test_lines_of_a_whole_table():
    (table,) = ruler_tables(records(1.0, length=4000, repeats=40) + records(0.5, length=8000, repeats=40))
    assert section_lines(ruler_sections([table]), ascii_only=True) == [
        "RULER | m | en",
        "  score: the mean of 13 tasks, each weighing the same",
        "  length  score %  95 % interval  strict %    n",
        "  4k          100       97.6-100      50.0  520",
        "  8k         50.0      48.8-51.2      25.0  520",
        "  wAvg(inc) 66.7, wAvg(dec) 83.3",
        "  effective length, score >= 85.6 %: 4k, 95 % interval 4k",
    ]


def test_languages_have_tables_of_their_own_and_scorers_are_named():
    tables = ruler_tables(records(1.0) + records(1.0, language="zh", scorer="match"))
    assert [(table.language, table.scorers) for table in tables] == [("en", ()), ("zh", ("match",))]
    assert section_lines(ruler_sections(tables))[-1] == "  scored by match, not as RULER does"


def test_the_table_is_in_results_json():
    assert '"ruler": []' in json_text(run_report([]))
    (shown,) = ruler_object(ruler_tables(records(1.0, repeats=30)))
    assert shown["effective_length"] == ">= 4096 (longest tested)"


def test_weighted_means_of_the_published_table() -> None:
    """wAvg(inc) and wAvg(dec) of every published row that has them."""
    checked = 0
    for row in cases("ruler/leaderboard_table"):
        scores = list(row["scores"].values())
        if None in scores or len(scores) < 6:
            continue
        for name, increasing in (("wavg_inc", True), ("wavg_dec", False)):
            if row[name].split()[0] != "TBD":
                published = float(row[name].split()[0])
                assert weighted(scores, increasing=increasing) == pytest.approx(published, abs=0.1), row["model"]
                checked += 1
    assert checked > 40


def test_two_tests_of_one_task_have_a_table_each():
    once = records(1.0)
    both = [
        changed(each, task=f"{each.task}@test_{name}", score=score)
        for each in once[:1]
        for name, score in (("a", 1.0), ("b", 0.0))
    ]
    tables = ruler_tables([*both, *once[1:]])

    assert [(table.model, table.lengths[0].mean) for table in tables] == [
        ("m (test_a)", 1.0),
        ("m (test_b)", pytest.approx(12 / 13)),
    ]


def test_what_is_unclear_to_the_strict_rule_is_left_out_of_its_mean():
    asked = records(1.0, repeats=2)
    asked[0] = changed(asked[0], details={"score": {"strict": None}})
    (table,) = ruler_tables(asked)

    assert table.lengths[0].strict == pytest.approx(0.5)
