"""`needlework score mrcr|graphwalks|longbench-v2`: predictions made without needlework, by every rule in one table."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from needlework.results.score import main
from tests.published_rows import deepmind_row, graph_row, longbench_row, mrcr_row, written

Table = dict[str, dict[str, str]]


def lines_of(path: Path, rows: Sequence[Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def table(text: str) -> Table:
    """The rows of the one table that was printed, by their group, as cells by head."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("group"))
    head = [cell for cell in lines[at].split("  ") if cell.strip()]
    rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[at + 1 :]]
    names = [name.strip() for name in head]
    return {row[0]: dict(zip(names[1:], row[1:], strict=False)) for row in rows if len(row) > 1}


def score(path: Path, rows: Sequence[Any], *words: str) -> int:
    return main([*words, lines_of(path, rows)])


def test_rows_with_the_columns_of_mrcr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [mrcr_row(number, needles) | {"total_tok_cnt": 16384} for number, needles in enumerate((2, 2, 4))]
    second = json.loads(rows[1]["prompt"])
    other = next(
        each["content"]
        for before, each in pairwise(second)
        if before["content"].endswith("kites") and each["content"] not in rows[1]["answer"]
    )
    replies = [rows[0]["answer"], rows[1]["random_string_to_prepend"] + other, f"\n{rows[2]['answer']}"]
    said = [row | {"prediction": reply} for row, reply in zip(rows, replies, strict=True)]
    assert score(tmp_path / "rows.jsonl", said, "mrcr") == 0
    printed = capsys.readouterr().out
    assert "rows.jsonl · openai_mrcr · 3 answers" in printed
    found = table(printed)
    assert found["n2"]["score %"] == "50.0"
    assert found["n2"]["another piece"] == "1"
    assert found["n4"]["score %"] == "100"
    assert found["n4"]["card %"] == "0"
    assert found["n4"]["evalscope %"] == "100"
    assert "n2 8,193-16,384" in found
    assert "openbench and evalscope count 3 of 3 rows in another bin" in printed


def test_rows_of_deepmind_s_mrcr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row | {"prediction": f"Sure: {row['answer']}"} for row in map(deepmind_row, range(2))]
    assert score(tmp_path / "rows.jsonl", rows, "mrcr") == 0
    found = table(capsys.readouterr().out)
    assert found["overall"]["deepmind %"] == "100"
    assert found["overall"]["score %"] == "0"
    assert found["overall"]["no string"] == "2"


def test_rows_of_graphwalks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [graph_row(number, "bfs" if number % 2 else "parents") for number in range(4)]
    said = [row | {"prediction": f"Final Answer: [{', '.join(row['answer_nodes'])}]\n"} for row in rows]
    assert score(tmp_path / "rows.jsonl", said, "graphwalks") == 0
    found = table(capsys.readouterr().out)
    assert found["overall"]["score %"] == "100"
    assert found["bfs"]["openbench %"] == "0"
    assert found["bfs"]["lm_eval %"] == "100"
    assert found["parents"]["lm_eval %"] == "50.0"  # one of them has an empty key


def test_rows_of_longbench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [longbench_row(number) | {"prediction": "The correct answer is (A)"} for number in range(4)]
    rows[1]["prediction"] = ""
    assert score(tmp_path / "rows.jsonl", rows, "longbench-v2") == 0
    printed = capsys.readouterr().out
    found = table(printed)
    assert "as LongBench's result.py prints it, 3 replies: overall 33.3, easy 50.0, hard 0.0, short 50.0," in printed
    assert found["overall"]["score %"] == "25.0"
    assert found["overall"]["authors %"] == "33.3"  # an empty reply is not in the authors' files


def test_reasoning_is_left_out_by_our_rule_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [longbench_row(number) for number in range(6)]
    said = [row | {"prediction": f"<think>Is it A?</think>ANSWER: {row['answer']}"} for row in rows]
    assert score(tmp_path / "rows.jsonl", said, "longbench-v2") == 0
    found = table(capsys.readouterr().out)
    assert found["overall"]["score %"] == found["short"]["evalscope %"] == "100"
    assert found["overall"]["authors %"] == "0"


def test_a_failed_request_is_in_no_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = graph_row(1) | {"prediction": f"Final Answer: [{graph_row(1)['answer_nodes'][0]}]"}
    failed = good | {"prediction": "", "error": "too long"}
    assert score(tmp_path / "rows.jsonl", [failed, good], "graphwalks", "--out", str(tmp_path / "o.json")) == 0
    found = table(capsys.readouterr().out)
    assert found["overall"]["score %"] == "100"
    assert found["overall"]["n"] == "1"
    items = json.loads((tmp_path / "o.json").read_text())["answers"][0]["items"]
    assert (items[0]["outcome"], items[0]["score"], items[0]["why"]) == ("error", None, "too long")


def test_a_log_of_inspect_is_read_by_its_own_reader(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = graph_row(1)
    good = SimpleNamespace(completion=f"Final Answer: [{row['answer_nodes'][0]}]", error=None)
    asked = [SimpleNamespace(role="user", text=row["prompt"])]
    samples = [
        SimpleNamespace(id=1, input=asked, target=row["answer_nodes"], output=good, metadata={}, error=None),
        SimpleNamespace(
            id=2, input="?", target=row["answer_nodes"], output=good, metadata=None, error=SimpleNamespace(message="no")
        ),
    ]
    module: Any = ModuleType("inspect_ai.log")
    module.read_eval_log = lambda _path, resolve_attachments: SimpleNamespace(samples=samples)
    monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.log", module)
    (tmp_path / "log.eval").touch()
    assert main(["graphwalks", str(tmp_path / "log.eval")]) == 0
    found = table(capsys.readouterr().out)["overall"]
    assert (found["score %"], found["n"]) == ("100", "1")


def test_without_inspect_the_package_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    (tmp_path / "log.eval").touch()
    assert main(["graphwalks", str(tmp_path / "log.eval")]) == 2
    said = capsys.readouterr().err
    assert said.endswith("a log of inspect_ai needs its reader: pip install inspect-ai\n")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("key", ["{}", "n2_q{:04}", "openai_mrcr-len8192-depthall-n2_q{:04}-r0"])
def test_plain_rows_with_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str) -> None:
    rows = [mrcr_row(number) for number in range(3)]
    said = [{"id": key.format(at), "prediction": row["answer"]} for at, row in enumerate(rows)]
    data = written(tmp_path / "m.parquet", rows)
    assert main(["mrcr", lines_of(tmp_path / "a.jsonl", said), "--data", data]) == 0
    assert table(capsys.readouterr().out)["n2"]["score %"] == "100"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", "", "has no answers"),
        ("a.jsonl", '{"id": 1}\n', "has no text in 'prediction'"),
        ("a.jsonl", "{no\n", "line 1': has no text"),
        ("a.jsonl", '{"id": 1, "prediction": "x"}\n', "tells no right answers"),
    ],
)
def test_what_cannot_be_scored_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, said: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert main(["graphwalks", str(tmp_path / name)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1


def test_answers_to_no_row_of_the_data_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path / "data.jsonl", [graph_row(0)])
    assert main(["graphwalks", lines_of(tmp_path / "a.jsonl", [{"id": 99, "prediction": "x"}]), "--data", data]) == 2
    assert f"has no row of {data}: give rows with its ids" in capsys.readouterr().err
