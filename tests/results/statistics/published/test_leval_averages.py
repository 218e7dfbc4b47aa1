"""L-Eval's averages of a run's records: which tasks are in them, and what is said of those that are not."""

import pytest

from needlework.haystack_fixtures.tasks.published.leval_files import CLOSED
from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS as TASKS
from needlework.results.report.section import section_lines
from needlework.results.report.suites import leval_sections
from needlework.results.statistics.suites.data_sets import leval_summaries
from tests.results.changed import changed


@pytest.fixture
def answered(make_record):
    def build(name, scores, **fields):
        rule = fields.pop("rule", TASKS[name].scorer.removeprefix("leval_") if name in TASKS else "f1")
        outcomes = {0: "wrong", 1: "found", None: "error"}
        shared = {"task": f"leval_{name.lower()}", "depth": None, "length": 16_000, "scorer": f"leval_{rule}"} | fields
        return [
            make_record(needle=f"doc{at}_q0", score=score, outcome=outcomes.get(score, "partial"), **shared)
            for at, score in enumerate(scores)
        ]

    return build


def averages(records):
    (summary,) = leval_summaries(records)
    return {each.name: each for each in summary.averages}


def test_each_task_weighs_the_same_whatever_its_questions_and_topics_are_in_no_closed_average(answered):
    records = answered("tpo", [1.0] * 6) + answered("quality", [0.0, 1.0]) + answered("topic_retrieval_longchat", [0.0])
    rows = averages(records)

    assert rows["closed average"].score.value == pytest.approx(0.75)
    assert rows["closed average"].tasks == ("tpo", "quality")
    assert "tpo 6 of 269" in rows["closed average"].missing
    assert (rows["all tasks"].of, rows["all tasks"].score.value) == (3, pytest.approx(0.5))


def test_whole_tasks_are_the_published_average(answered):
    records = [record for name in CLOSED for record in answered(name, [1.0] * TASKS[name].expected, rule="x_compat")]
    (summary,) = leval_summaries(records)

    assert (summary.averages[0].missing, summary.rule) == ((), "compat")
    assert not any("not the published average" in line for line in section_lines(leval_sections([summary])))


def test_rouge_has_three_averages_of_the_answers_details(answered):
    details = {"score": {"rouge1": 0.6, "rouge2": 0.2, "rougeL": 0.4}}
    rows = averages(answered("news_summ", [0.4], details=details) + answered("patent_summ", [0.4], details=details))

    assert [rows[f"ROUGE-{name} average"].score.value for name in "12L"] == pytest.approx([0.6, 0.2, 0.4])


def test_what_has_no_score_is_counted_and_in_no_mean(answered):
    records = answered("tpo", [1.0, None]) + answered("quality", [1.0])
    row = averages(records)["closed average"]

    assert (row.n, row.unscored) == (2, 1)
    assert "unscored" in "\n".join(section_lines(leval_sections(leval_summaries(records))))


def test_files_of_ones_own_are_in_the_mean_of_all_and_lengths_stand_apart(answered):
    records = answered("harbour", [0.5]) + answered("mill", [1.0])
    both = records + [changed(record, length=8_000) for record in records]

    assert averages(records)["all tasks"].score.value == 0.75
    assert [each.length for each in leval_summaries(both)] == [8_000, 16_000]


def test_one_task_has_no_average_and_the_terminal_may_have_ascii_alone(answered):
    assert leval_summaries(answered("tpo", [1.0])) == ()
    summaries = leval_summaries(answered("tpo", [1.0]) + answered("quality", [0.0]))
    lines = section_lines(leval_sections(summaries), ascii_only=True)
    assert lines[0] == "L-Eval | mock | 16k"
    assert "\n".join(lines).isascii()
    assert any(line.strip().startswith("closed: not the published average, without tpo 1 of 269") for line in lines)
