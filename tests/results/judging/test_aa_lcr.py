"""`needlework score aa-lcr`: ready answers, judged by the prompt that belongs to their version."""

import json

from needlework.results.score import main
from tests.aa_lcr_data import write_copy


def test_answers_are_judged_and_counted_by_question_and_category(tmp_path, capsys):
    rows = [{"question_id": number, "prediction": text} for number, text in ((1, "12"), (3, " "), (99, "?"))]
    rows.append({"id": "q002", "prediction": "May"})
    answers, out = tmp_path / "a.jsonl", tmp_path / "out.json"
    answers.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    words = ["aa-lcr", str(answers), "--data", write_copy(tmp_path), "--judge", "mock:judge=1", "--out", str(out)]

    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("AA-LCR 1.1, a.jsonl: 66.7 % (95 % interval ")
    assert lines[0].endswith(", n = 3, 3 of 4 questions")
    assert lines[1:4] == [
        "Company Documents: 0 % (one set of documents: no interval), n = 1",
        "Legal: 100 % (one set of documents: no interval), n = 2",
        "left out, as the data has no such question: 1",
    ]
    (content,) = json.loads(out.read_text(encoding="utf-8"))["answers"]
    assert [item["correct"] for item in content["items"]] == [1.0, 0.0, 1.0]
    assert len((tmp_path / "a.judge.jsonl").read_text(encoding="utf-8").splitlines()) == 2, "a blank one is not asked"


def test_answers_without_questions_of_the_data_are_refused(tmp_path, capsys):
    answers = tmp_path / "a.jsonl"
    answers.write_text('{"prediction": "12"}\n', encoding="utf-8")

    assert main(["aa-lcr", str(answers), "--data", write_copy(tmp_path), "--judge", "mock:judge"]) == 2
    assert "has no question_id of the data" in capsys.readouterr().err
