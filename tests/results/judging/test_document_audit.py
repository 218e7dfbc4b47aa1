"""`needlework judge-audit` on answers about documents: judge, offline rule and people beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import needlework
from needlework.core.record import Record
from needlework.results.files.json_files import write_json
from needlework.results.statistics.run_report import run_report
from tests.results.changed import changed
from tests.results.document_records import asked


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Ten right answers, five that the rule misses, five wrong ones, one that the judge failed on."""
    records: list[Record] = [asked(q, "found", rule="found") for q in range(10)]
    records += [asked(q, "found", rule="wrong") for q in range(10, 15)]
    records += [asked(q, "wrong", rule="wrong") for q in range(15, 20)]
    records.append(asked(20, "error", scorer="judge_documents", error={"kind": "judge", "message": "unreadable"}))
    write_json(tmp_path / "results.json", run_report(records))
    return tmp_path


def rows(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
    return path


def test_a_run_tells_how_far_judge_and_rule_agree(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert needlework.main(["judge-audit", str(run)]) == 0

    out = capsys.readouterr().out
    assert "21 answers to 21 questions; 1 judgements without a verdict" in out
    assert "rule and judge agree: 75.00 %" in out
    assert "Cohen's kappa: 0.500" in out
    assert [line.split() for line in out.splitlines()[-3:]] == [
        ["rule", "\\", "judge", "right", "wrong"], ["right", "10", "0"], ["wrong", "5", "5"],
    ]  # fmt: skip


def test_labels_of_records_are_put_beside_both(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [asked(q).id for q in range(20)]
    labels = rows(run / "labels.jsonl", [{"item": name, "human": q < 15} for q, name in enumerate(ids)])

    assert needlework.main(["judge-audit", str(run / "results.json"), "--labels", str(labels)]) == 0
    out = capsys.readouterr().out
    assert "human and judge agree: 100.00 %" in out
    assert "human and rule agree: 75.00 %" in out


def test_equal_answers_show_whether_the_judge_agrees_with_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [asked(q, "found", rule="found", depth=d) for q in range(4) for d in (0.0, 100.0)]
    records[0] = changed(records[0], outcome="wrong", score=0.0)
    write_json(tmp_path / "results.json", run_report(records))

    needlework.main(["judge-audit", str(tmp_path)])
    assert "the judge agrees with itself: 75.00 % of 4 equal answers" in capsys.readouterr().out


def test_marks_of_other_judges_are_audited_beside_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Needles have questions of their own under one label; 9 and 10 of 10 are right."""
    marks = ("found", "found", "found", "partial", "wrong", "empty")
    records: list[Any] = [
        changed(asked(0, mark, task="niah", repeat=number, scorer="judge_evalscope"), question=f"The code of {number}?")
        for number, mark in enumerate(marks)
    ]
    write_json(tmp_path / "results.json", run_report(records))
    assert needlework.main(["judge-audit", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "5 answers to 5 questions; 0 judgements without a verdict" in out
    assert "nothing to compare the judge with: give --labels" in out

    people = rows(
        tmp_path / "labels.jsonl",
        [{"item": each.id, "human": number < 2} for number, each in enumerate(records[:5])],
    )
    assert needlework.main(["judge-audit", str(tmp_path), "--labels", str(people)]) == 0
    out = capsys.readouterr().out
    assert "human and judge agree: 80.00 %" in out
    assert "nothing to compare" not in out


def test_labelled_answers_audit_the_offline_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = {"question": "What is the dish called?", "answers": ["Oruro"]}
    found = [question | {"response": "It is Oruro.", "human": "right"}] * 3
    found += [question | {"response": "Potosi", "human": "wrong"}, question | {"response": "Potosi", "human": "right"}]

    assert needlework.main(["judge-audit", str(rows(tmp_path / "labelled.jsonl", found))]) == 0
    assert "human and rule agree: 80.00 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("labels", "told"),
    [([{"item": "other", "human": "right"}], "is no record of"), ([{"item": None, "human": "maybe"}], "right")],
)
def test_labels_that_do_not_fit(
    run: Path, labels: list[dict[str, Any]], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = [row | {"item": row["item"] or asked(0).id} for row in labels]

    assert needlework.main(["judge-audit", str(run), "--labels", str(rows(run / "l.jsonl", labels))]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


def test_what_cannot_be_audited_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "results.json", run_report([asked(0)]))
    row = rows(tmp_path / "a.jsonl", [{"response": "x", "human": "right"}])
    for argv, told in (
        ([str(tmp_path)], "--scorer judge_documents"),
        ([str(tmp_path / "none.json")], "cannot be read"),
        ([str(row)], "line 1 needs"),
        ([str(rows(tmp_path / "b.jsonl", [{"item": "a", "human": "x", "verdict": "x"}])), "--labels", "x"], "--labels"),
    ):
        assert needlework.main(["judge-audit", *argv]) == 2
        said = capsys.readouterr().err
        assert told in said
        assert said.count("\n") == 1
