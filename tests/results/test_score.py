"""`needlework score mrcr|graphwalks|longbench-v2`: predictions made without needlework, by every rule in one table."""

import json
import sys
from itertools import pairwise
from types import ModuleType, SimpleNamespace

import pytest

from needlework.results.score import main
from tests.published_rows import deepmind_row, graph_row, longbench_row, mrcr_row, written


def lines_of(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def table(text):
    """The rows of the one table that was printed, by their group, as cells by head."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("group"))
    head, *rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[at:]]
    return {row[0]: dict(zip(head[1:], row[1:], strict=False)) for row in rows if len(row) > 1}


@pytest.fixture
def score(tmp_path, capsys):
    """Score rows; the table that was printed, and all of the text."""

    def run(benchmark, rows, *words):
        assert main([benchmark, lines_of(tmp_path / "rows.jsonl", rows), *words]) == 0
        text = capsys.readouterr().out
        return table(text), text

    return run


def test_rows_with_the_columns_of_mrcr(score):
    rows = [mrcr_row(number, needles) | {"total_tok_cnt": 16384} for number, needles in enumerate((2, 2, 4))]
    second = json.loads(rows[1]["prompt"])
    other = next(
        each["content"]
        for before, each in pairwise(second)
        if before["content"].endswith("kites") and each["content"] not in rows[1]["answer"]
    )
    replies = [rows[0]["answer"], rows[1]["random_string_to_prepend"] + other, f"\n{rows[2]['answer']}"]
    groups, text = score("mrcr", [row | {"prediction": reply} for row, reply in zip(rows, replies, strict=True)])
    assert "rows.jsonl · openai_mrcr · 3 answers" in text
    assert (groups["n2"]["score %"], groups["n2"]["another piece"]) == ("50.0", "1")
    assert [groups["n4"][name] for name in ("score %", "card %", "evalscope %")] == ["100", "0", "100"]
    assert "n2 8,193-16,384" in groups
    assert "openbench and evalscope count 3 of 3 rows in another bin" in text


def test_rows_of_deepmind_s_mrcr(score):
    groups, _ = score("mrcr", [row | {"prediction": f"Sure: {row['answer']}"} for row in map(deepmind_row, range(2))])
    assert [groups["overall"][name] for name in ("deepmind %", "score %", "no string")] == ["100", "0", "2"]


def test_rows_of_graphwalks(score):
    rows = [graph_row(number, "bfs" if number % 2 else "parents") for number in range(4)]
    said = [row | {"prediction": f"Final Answer: [{', '.join(row['answer_nodes'])}]\n"} for row in rows]
    groups, _ = score("graphwalks", said)
    assert groups["overall"]["score %"] == "100"
    assert (groups["bfs"]["openbench %"], groups["bfs"]["lm_eval %"]) == ("0", "100")
    assert groups["parents"]["lm_eval %"] == "50.0"  # one of them has an empty key


def test_rows_of_longbench(score):
    rows = [longbench_row(number) | {"prediction": "The correct answer is (A)"} for number in range(4)]
    rows[1]["prediction"] = ""
    groups, text = score("longbench-v2", rows)
    assert "as LongBench's result.py prints it, 3 replies: overall 33.3, easy 50.0, hard 0.0, short 50.0," in text
    assert groups["overall"]["score %"] == "25.0"
    assert groups["overall"]["authors %"] == "33.3"  # an empty reply is not in the authors' files


def test_reasoning_is_left_out_by_our_rule_alone(score):
    rows = [longbench_row(number) for number in range(6)]
    said = [row | {"prediction": f"<think>Is it A?</think>ANSWER: {row['answer']}"} for row in rows]
    groups, _ = score("longbench-v2", said)
    assert groups["overall"]["score %"] == groups["short"]["evalscope %"] == "100"
    assert groups["overall"]["authors %"] == "0"


def test_a_failed_request_is_in_no_mean(tmp_path, score):
    good = graph_row(1) | {"prediction": f"Final Answer: [{graph_row(1)['answer_nodes'][0]}]"}
    failed = good | {"prediction": "", "error": "too long"}
    groups, _ = score("graphwalks", [failed, good], "--out", str(tmp_path / "o.json"))
    assert (groups["overall"]["score %"], groups["overall"]["n"]) == ("100", "1")
    items = json.loads((tmp_path / "o.json").read_text())["answers"][0]["items"]
    assert (items[0]["outcome"], items[0]["score"], items[0]["why"]) == ("error", None, "too long")


def test_a_log_of_inspect_is_read_by_its_own_reader(tmp_path, capsys, monkeypatch):
    row = graph_row(1)
    good = SimpleNamespace(completion=f"Final Answer: [{row['answer_nodes'][0]}]", error=None)
    asked = [SimpleNamespace(role="user", text=row["prompt"])]
    samples = [
        SimpleNamespace(id=1, input=asked, target=row["answer_nodes"], output=good, metadata={}, error=None),
        SimpleNamespace(
            id=2, input="?", target=row["answer_nodes"], output=good, metadata=None, error=SimpleNamespace(message="no")
        ),
    ]
    module = ModuleType("inspect_ai.log")
    module.read_eval_log = lambda _path, resolve_attachments: SimpleNamespace(samples=samples)
    monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.log", module)
    (tmp_path / "log.eval").touch()
    assert main(["graphwalks", str(tmp_path / "log.eval")]) == 0
    found = table(capsys.readouterr().out)["overall"]
    assert (found["score %"], found["n"]) == ("100", "1")


@pytest.mark.parametrize("key", ["{}", "n2_q{:04}", "openai_mrcr-len8192-depthall-n2_q{:04}-r0"])
def test_plain_rows_with_the_data(tmp_path, score, key):
    rows = [mrcr_row(number) for number in range(3)]
    said = [{"id": key.format(at), "prediction": row["answer"]} for at, row in enumerate(rows)]
    groups, _ = score("mrcr", said, "--data", written(tmp_path / "m.parquet", rows))
    assert groups["n2"]["score %"] == "100"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", "has no answers"),
        ("a.jsonl", '{"id": 1}\n', "has no text in 'prediction'"),
        ("a.jsonl", "{no\n", "line 1': has no text"),
        ("a.jsonl", '{"id": 1, "prediction": "x"}\n', "tells no right answers"),
        ("with data.jsonl", '{"id": 99, "prediction": "x"}\n', "data.jsonl: give rows with its ids"),
        ("log.eval", "", "a log of inspect_ai needs its reader: pip install inspect-ai\n"),
    ],
)
def test_what_cannot_be_scored_is_one_line(tmp_path, capsys, monkeypatch, name, content, message):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    (tmp_path / name).write_text(content, encoding="utf-8")
    data = ["--data", written(tmp_path / "data.jsonl", [graph_row(0)])] if "data" in name else []
    assert main(["graphwalks", str(tmp_path / name), *data]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
