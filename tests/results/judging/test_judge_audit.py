"""`needlework judge-audit`: a judge beside human labels, and beside itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import needlework
from needlework.core.errors import InputError
from needlework.results.judging.audit import audit, read_labels


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def build(rows: list[Any], name: str = "labels.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
        return path

    return build


def test_agreement_kappa_table_and_consistency(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"item": f"a{at}", "human": "win", "verdict": ["win", "win"]} for at in range(20)]
    rows += [{"item": f"b{at}", "human": "win", "verdict": "loss"} for at in range(5)]
    rows += [{"item": f"c{at}", "human": "loss", "verdict": "win"} for at in range(10)]
    rows += [{"item": f"d{at}", "human": "loss", "verdict": ["loss", "win"]} for at in range(15)]

    assert needlework.main(["judge-audit", str(write(rows))]) == 0

    out = capsys.readouterr().out
    assert "50 items, 85 verdicts; 0 judgements without a verdict" in out
    assert "agreement with the human labels: 64.71 %" in out  # 40 + 15 of 85
    assert "Cohen's kappa: 0.271 (" in out  # chance: 3725 of 7225
    assert "agrees with itself: 57.14 % of 35 items" in out  # 20 of 35
    table = [line.split() for line in out.splitlines()[-3:]]
    assert table == [["human", "\\", "judge", "loss", "win"], ["loss", "15", "25"], ["win", "5", "40"]]


def test_comparisons_and_marks_in_one_file_are_refused(write: Any) -> None:
    pair = {"item": "a", "verdict": "win", "shown_first": "ours", "replies": ["A"]}
    with pytest.raises(InputError, match="keep rows of one kind"):
        read_labels(write([pair, {"item": "a", "verdict": 7, "replies": ["7"]}]))


def test_rows_of_one_item_belong_together(write: Any) -> None:
    """So that human labels can be put below the file that `needlework judge` writes."""
    found = audit(
        read_labels(
            write(
                [
                    {"item": "a", "verdict": "win", "shown_first": "ours"},
                    {"item": "a", "verdict": None, "shown_first": "rival"},
                    {"item": "b", "verdict": "tie"},
                    {"item": "a", "human": "win"},
                ]
            )
        )
    )

    assert (found.items, found.unlabelled, found.verdicts, found.failed, found.repeated) == (2, 1, 2, 1, 0)
    assert found.with_human.agreement.value == 1.0


def test_a_table_may_be_csv(write: Any) -> None:
    path = write(["item,human,verdict,note", "1,7,7,", '2,8,7,"two', 'lines"', "2,8,,"], "marks.csv")

    found = audit(read_labels(path))

    assert (found.with_human.labels, found.with_human.table) == (("7", "8"), ((1, 0), (1, 0)))
    assert found.failed == 1


def test_numbers_are_labels(write: Any) -> None:
    found = audit(read_labels(write([{"item": 1, "human": 7, "verdict": 7.0}])))

    assert found.with_human.agreement.value == 1.0


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "is empty"),
        (["not JSON"], "line 1 is not a JSON object"),
        (["[" * 100_000], "line 1 is not a JSON object"),
        ([{"human": "win"}], "line 1 has no `item`"),
        ([{"item": "a", "human": ["win"]}], "line 1: a label is text"),
        ([{"item": "a", "verdict": [["win"]]}], "line 1: a label is text"),
        (
            [{"item": "a", "human": "win"}, {"item": "a", "human": "loss"}],
            "line 2: a has the human labels win and loss",
        ),
        ([{"item": "a", "human": "win"}], "has neither"),
        ([{"item": at, "human": at} for at in range(51)], "51 different labels"),
        ([{"item": "a", "judge": "x"}, {"item": "a", "judge": "y"}], "verdicts of several judges, x, y"),
    ],
)
def test_files_that_cannot_be_audited(
    rows: list[Any], told: str, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert needlework.main(["judge-audit", str(write(rows))]) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_tables_that_cannot_be_audited(write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, told in (
        (write(["item,label"], "a.csv"), "has no column human and verdict"),
        (write(["item,human,verdict", 'a,"b'], "b.csv"), "is no CSV"),
        (write(["item,human,verdict", "a"], "c.csv"), "has neither"),
        (tmp_path / "none.csv", "cannot be read"),
        (tmp_path, "cannot be read"),
    ):
        assert needlework.main(["judge-audit", str(path)]) == 2
        assert told in capsys.readouterr().err
