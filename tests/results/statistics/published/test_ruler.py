"""RULER's table: the mean of 13 tasks, weighted means over lengths, effective length."""

import json

import pytest

from needlework.core.record import record_of
from needlework.results.files.json_files import results_bytes
from needlework.results.report.section import section_lines
from needlework.results.report.suites import ruler_sections
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.ruler import TASKS, ruler_tables, weighted
from tests.parity.cases import cases
from tests.results.changed import changed


def records(scores, *, length=4096, repeats=1, **fields):
    """A record for each task (all, or those of a mapping), with the task's score; a score of None is an error."""
    scores = dict.fromkeys(TASKS, scores) if not isinstance(scores, dict) else scores
    return [
        record_of(
            {
                "key": f"{task}{length}{repeat}",
                "model": "m",
                "task": task,
                "needle": "words",
                "language": "en",
                "length": length,
                "depth": None,
                "repeat": repeat,
                "score": score,
                "reference": {},
                "outcome": "error" if score is None else "found" if score == 1 else "partial" if score else "wrong",
                "scorer": "ruler_part" if "qa" in task else "ruler_all",
                "details": {"score": {"strict": (score or 0) / 2}},
            }
            | fields
        )
        for task, score in scores.items()
        for repeat in range(repeats)
    ]


def length_of(rows):
    (table,) = ruler_tables(rows)
    (row,) = table.lengths
    return row


def test_the_mean_weighs_every_task_the_same():
    right = records(1.0, repeats=2) + records(1.0, repeats=5)[2:5]
    row = length_of([each for each in right if each.task != "ruler_vt"] + records({"ruler_vt": 0.0}, repeats=2))

    assert (row.mean, row.strict) == pytest.approx((12 / 13, 6 / 13))
    assert row.low < row.mean < row.high


def test_a_length_without_all_13_tasks_has_no_mean_and_says_which_are_missing():
    some = records(dict.fromkeys(TASKS[:-1], 1.0) | {"ruler_fwe": None})
    row = length_of(some)

    assert (row.mean, row.strict, row.missing, row.unscored) == (None, None, ("ruler_fwe", "ruler_qa_2"), 1)
    assert section_lines(ruler_sections(ruler_tables(some))) == [
        "RULER · m · en",
        "  score: the mean of 13 tasks, each weighing the same",
        "  length  score %   n  unscored",
        "  4096          –  11         1",
        "  4096: no mean, as there is no score for fwe, qa_2",
    ]


def test_answers_cut_off_before_anything_right_count_as_0_and_unclear_strict_scores_do_not():
    rows = records(1.0, repeats=2)
    rows[0] = changed(rows[0], details={"score": {"strict": None}})
    assert length_of(rows).strict == pytest.approx(0.5)

    rows[0] = changed(rows[0], outcome="censored", score=None)
    row = length_of(rows)
    assert row.mean == pytest.approx((12 + 0.5) / 13)
    assert (row.n, row.cut, row.unscored) == (26, 1, 0)


def test_controls_and_other_tasks_are_left_out():
    other = records({"niah": 0.0})

    assert length_of(records(1.0) + records(0.0, reference={"control": "focused"}) + other).mean == 1
    assert ruler_tables(other) == ()


def test_the_whole_table_is_printed_and_written():
    rows = records(1.0, length=4000, repeats=40) + records(0.5, length=8000, repeats=40)
    assert section_lines(ruler_sections(ruler_tables(rows)), ascii_only=True) == [
        "RULER | m | en",
        "  score: the mean of 13 tasks, each weighing the same",
        "  length  score %  95 % interval  strict %    n",
        "  4k          100       97.6-100      50.0  520",
        "  8k         50.0      48.8-51.2      25.0  520",
        "  wAvg(inc) 66.7, wAvg(dec) 83.3",
        "  effective length, score >= 85.6 %: 4k, 95 % interval 4k",
    ]
    written, none = (json.loads(results_bytes(run_report(each)))["ruler"] for each in (records(1.0, repeats=30), []))
    assert (written[0]["effective_length"], written[0]["increasing"], none) == (">= 4096 (longest tested)", None, [])


def test_languages_and_two_tests_of_one_task_have_tables_of_their_own_and_scorers_are_named():
    tables = ruler_tables(records(1.0) + records(1.0, language="zh", scorer="match"))
    assert [(table.language, table.scorers) for table in tables] == [("en", ()), ("zh", ("match",))]
    assert section_lines(ruler_sections(tables))[-1] == "  scored by match, not as RULER does"

    first, *others = records(1.0)
    tests = [changed(first, task=f"{first.task}@test_{name}", score=score) for name, score in (("a", 1.0), ("b", 0.0))]
    models = [(table.model, table.lengths[0].mean) for table in ruler_tables([*tests, *others])]
    assert models == [("m (test_a)", 1.0), ("m (test_b)", pytest.approx(12 / 13))]


def test_weighted_means_of_the_published_table():
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
