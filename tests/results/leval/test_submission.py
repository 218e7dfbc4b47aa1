"""What L-Eval's leaderboard asks for, written from runs: files, tables, and what stays blank."""

import csv
import json

import pytest

from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS as TASKS
from needlework.results.files.json_files import write_json
from needlework.results.leval.submission import main, submission_rows
from needlework.results.statistics.run_report import run_report
from tests.results.changed import changed

GOLD = {"tpo": "B", "quality": "(A) The ship", "coursera": "BD", "gsm100": "42", "sci_fi": "True [fact: False]"}


def answered(make_record, name, *, wrong=0, label="", **fields):
    """Records of every question of a task; the first `wrong` of them answered wrong."""
    evaluation = TASKS[name].evaluation
    counts = TASKS[name].questions
    labels = [f"doc{document}_q{q}{label}" for document, count in enumerate(counts) for q in range(count)]
    gold = GOLD.get(name, "a blue ship in the harbour")
    return [
        make_record(
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
    def write(records, window=32_000):
        folder = tmp_path / "run"
        folder.mkdir()
        write_json(folder / "results.json", run_report(records))
        manifest = {"models": {"mock": {"window": window}}, "suites": [{"answer_budget": 512}]}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return folder

    return write


def table(path):
    head, row = csv.reader(path.read_text().splitlines())
    return dict(zip(head, row, strict=True))


def test_files_and_tables_have_the_leaderboards_keys(make_record, run, capsys):
    records = answered(make_record, "tpo", wrong=269 // 2) + answered(make_record, "multidoc_qa")
    made = run(records)
    assert main([str(made), "--name", "my-7b"]) == 0

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
    assert "fields to fill in" in capsys.readouterr().out


def test_an_incomplete_task_has_no_score_and_what_is_missing_is_named(make_record, run, capsys):
    records = answered(make_record, "tpo")
    records[7] = changed(records[7], outcome="error", score=None)
    folder = run(records)
    assert main([str(folder)]) == 0
    assert table(folder / "leval/mock/Results/exact_match.csv")["tpo"] == ""
    told = capsys.readouterr().out
    assert "268 of 269" in told
    assert "without an answer, 1: leval_tpo-len16000-depthNone-doc0_q7-r0 (error)" in told


def test_lengths_and_retrievers_are_entries_of_their_own(make_record):
    records = answered(make_record, "tpo") + answered(make_record, "tpo", label="_bm25")
    whole, retrieved = submission_rows(records, "m")
    assert (whole.name, whole.retriever) == ("m", "")
    assert (retrieved.name, retrieved.retriever) == ("m-bm25", "bm25")


def test_rows_for_judges_stand_in_one_file_a_model_and_have_no_table(make_record, run, capsys):
    [record] = answered(make_record, "multidoc_qa")[:1]
    record.reference["evaluation"] = "human"
    folder = run([record])
    assert main([str(folder)]) == 0
    files = {str(path.relative_to(folder / "leval/mock/Predictions")) for path in folder.rglob("*.pred.jsonl")}
    assert files == {"human_eval/mock.pred.jsonl", "llm_turbo_eval/mock.pred.jsonl"}
    told = capsys.readouterr().out
    assert told.startswith("L-Eval, mock\nhuman_eval: 1 of 85 rows; run the whole --leval-subset\n")


@pytest.mark.parametrize("case", ["has no answers to tasks of L-Eval", "does not exist"])
def test_bad_input_is_one_line(make_record, run, tmp_path, capsys, case):
    folder = run([make_record()]) if "answers" in case else tmp_path / "no"
    assert main([str(folder)]) == 2
    error = capsys.readouterr().err
    assert case in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["../up", "/tmp/x", "a/b", "..", ""])
def test_a_name_that_leads_out_of_the_folder_is_refused(name, tmp_path, capsys):
    (tmp_path / "results.json").write_text('{"schema": 1, "records": []}')
    assert main([str(tmp_path), "--name", name]) == 2
    assert "--name" in capsys.readouterr().err
