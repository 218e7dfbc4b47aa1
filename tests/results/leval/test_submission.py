"""L-Eval's averages, and the leaderboard's files that `leval-export` writes."""

import csv
import json

import pytest

from needlework.haystack_fixtures.tasks.published.leval_files import CLOSED
from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS as TASKS
from needlework.results.leval.submission import submission_rows
from needlework.results.report.section import section_lines
from needlework.results.report.suites import leval_sections
from needlework.results.statistics.suites.data_sets import leval_summaries
from tests.results.builders import changed, new_record, output, refusal, write_run


def answered(name, scores, **fields):
    rule = fields.pop("rule", TASKS[name].scorer.removeprefix("leval_") if name in TASKS else "f1")
    outcomes = {0: "wrong", 1: "found", None: "error"}
    shared = {"task": f"leval_{name.lower()}", "depth": None, "length": 16_000, "scorer": f"leval_{rule}"} | fields
    return [
        new_record(needle=f"doc{at}_q0", score=score, outcome=outcomes.get(score, "partial"), **shared)
        for at, score in enumerate(scores)
    ]


def averages(records):
    (summary,) = leval_summaries(records)
    return {each.name: each for each in summary.averages}


def test_each_task_weighs_the_same_whatever_its_questions_and_topics_are_in_no_closed_average():
    records = answered("tpo", [1.0] * 6) + answered("quality", [0.0, 1.0]) + answered("topic_retrieval_longchat", [0.0])
    rows = averages(records)

    assert rows["closed average"].score.value == pytest.approx(0.75)
    assert rows["closed average"].tasks == ("tpo", "quality")
    assert "tpo 6 of 269" in rows["closed average"].missing
    assert (rows["all tasks"].of, rows["all tasks"].score.value) == (3, pytest.approx(0.5))
    both = records + [changed(record, length=8_000) for record in records]
    assert [each.length for each in leval_summaries(both)] == [8_000, 16_000], "lengths stand apart"
    with_own = averages(records + answered("harbour", [1.0]))["all tasks"]
    assert (with_own.of, with_own.score.value) == (4, pytest.approx(0.625)), "files of one's own are in it"


def test_whole_tasks_are_the_published_average():
    records = [record for name in CLOSED for record in answered(name, [1.0] * TASKS[name].expected, rule="x_compat")]
    (summary,) = leval_summaries(records)

    assert (summary.averages[0].missing, summary.rule) == ((), "compat")
    assert not any("not the published average" in line for line in section_lines(leval_sections([summary])))


def test_rouge_has_three_averages_of_the_answers_details():
    details = {"score": {"rouge1": 0.6, "rouge2": 0.2, "rougeL": 0.4}}
    rows = averages(answered("news_summ", [0.4], details=details) + answered("patent_summ", [0.4], details=details))

    assert [rows[f"ROUGE-{name} average"].score.value for name in "12L"] == pytest.approx([0.6, 0.2, 0.4])


GOLD = {"tpo": "B", "quality": "(A) The ship", "coursera": "BD", "gsm100": "42", "sci_fi": "True [fact: False]"}


def whole_task(name, *, wrong=0, label="", **fields):
    """Records of every question of a task; the first `wrong` of them answered wrong."""
    evaluation = TASKS[name].evaluation
    counts = TASKS[name].questions
    labels = [f"doc{document}_q{q}{label}" for document, count in enumerate(counts) for q in range(count)]
    gold = GOLD.get(name, "a blue ship in the harbour")
    return [
        new_record(
            task=f"leval_{name.lower()}",
            needle=needle,
            depth=None,
            length=16_000,
            expected=[gold],
            question=f"Question {needle}?\nWrite about 5 words.",
            reference={"answers": [gold], "question": f"Question {needle}?", "evaluation": evaluation},
            response={"text": "C" if at < wrong else gold, "finish_reason": "stop"},
            **fields,
        )
        for at, needle in enumerate(labels)
    ]


@pytest.fixture
def run(tmp_path):
    manifest = {"models": {"mock": {"window": 32_000}}, "suites": [{"answer_budget": 512}]}
    return lambda records: write_run(tmp_path / "run", records, manifest=manifest)


def table(path):
    head, row = csv.reader(path.read_text().splitlines())
    return dict(zip(head, row, strict=True))


def test_files_and_tables_have_the_leaderboards_keys(run, capsys):
    records = whole_task("tpo", wrong=269 // 2) + whole_task("multidoc_qa")
    made = run(records)
    printed = output(capsys, "leval-export", made, "--name", "my-7b")
    folder = made / "leval/my-7b"
    tpo = (folder / "Predictions/exam_eval/my-7b/tpo.pred.jsonl").read_text().splitlines()
    assert len(tpo) == 269
    first = {"query": "Question doc0_q0?", "gt": "B", "my-7b_pred": "C", "evaluation": "exam"}
    assert first.items() <= json.loads(tpo[0]).items()
    exam = table(folder / "Results/exact_match.csv")
    assert exam["tpo"] == f"{100 * 135 / 269:.2f}"
    assert exam["Avg"] == exam["quality"] == ""  # one task is no average, and what was not run has no score
    assert (exam["Max-Ctx"], exam["Tokens"]) == ("32000", "15488")
    f1 = table(folder / "Results/f1.csv")
    assert (f1["multidoc_qa"], f1["F1 avg"], f1["Length"], f1["Ret."]) == ("100.00", "", "6.0", "no")
    assert json.loads((folder / "metadata.json").read_text())["links"]["paper"] == ""
    assert "fields to fill in" in printed


def test_an_incomplete_task_has_no_score_and_what_is_missing_is_named(run, capsys):
    records = whole_task("tpo")
    records[7] = changed(records[7], outcome="error", score=None)
    folder = run(records)
    printed = output(capsys, "leval-export", folder)
    assert table(folder / "leval/mock/Results/exact_match.csv")["tpo"] == ""
    assert "268 of 269" in printed
    assert "without an answer, 1: leval_tpo-len16000-depthNone-doc0_q7-r0 (error)" in printed


def test_lengths_and_retrievers_are_entries_of_their_own():
    records = whole_task("tpo") + whole_task("tpo", label="_bm25")
    whole, retrieved = submission_rows(records, "m")
    assert (whole.name, whole.retriever) == ("m", "")
    assert (retrieved.name, retrieved.retriever) == ("m-bm25", "bm25")


def test_rows_for_judges_stand_in_one_file_a_model_and_have_no_table(run, capsys):
    [record] = whole_task("multidoc_qa")[:1]
    record.reference["evaluation"] = "human"
    folder = run([record])
    printed = output(capsys, "leval-export", folder)
    files = {str(path.relative_to(folder / "leval/mock/Predictions")) for path in folder.rglob("*.pred.jsonl")}
    assert files == {"human_eval/mock.pred.jsonl", "llm_turbo_eval/mock.pred.jsonl"}
    assert printed.startswith("L-Eval, mock\nwritten to ")


def test_bad_input_is_one_line(run, tmp_path, capsys):
    folder = run([new_record()])
    assert "does not exist" in refusal(capsys, "leval-export", tmp_path / "no")
    assert "has no answers to tasks of L-Eval" in refusal(capsys, "leval-export", folder)
    for name in ("../up", "/tmp/x", "a/b", "..", ""):
        assert "--name" in refusal(capsys, "leval-export", folder, "--name", name)
