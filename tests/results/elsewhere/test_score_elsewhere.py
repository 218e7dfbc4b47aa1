"""`needlework score mrcr|graphwalks|longbench-v2`: what other harnesses wrote down, by every rule in one table."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
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


def inspect_log(path: Path, rows: Sequence[dict[str, Any]], replies: Sequence[str]) -> str:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", "{}")
        for number, (row, reply) in enumerate(zip(rows, replies, strict=True)):
            # Long texts may be kept apart, as attachments.
            text = "attachment://a" if number else reply
            content = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": text}]
            names = ("random_string_to_prepend", "n_needles", "desired_msg_index")
            sample = {
                "id": number,
                "input": json.loads(row["prompt"]),
                "target": row["answer"],
                "output": {"choices": [{"message": {"role": "assistant", "content": content}}]},
                "attachments": {"a": reply},
                "metadata": {name: row[name] for name in names} | {"total_tok_cnt": 16384},
            }
            file.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return str(path)


def test_openbench_s_log_with_mrcr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [mrcr_row(number, needles) for number, needles in enumerate((2, 2, 4))]
    second = json.loads(rows[1]["prompt"])
    other = next(
        each["content"]
        for before, each in pairwise(second)
        if before["content"].endswith("kites") and each["content"] not in rows[1]["answer"]
    )
    replies = [rows[0]["answer"], rows[1]["random_string_to_prepend"] + other, f"\n{rows[2]['answer']}"]
    assert main(["mrcr", inspect_log(tmp_path / "log.eval", rows, replies)]) == 0
    printed = capsys.readouterr().out
    assert "log.eval · openai_mrcr · 3 answers" in printed
    assert "written by openbench" in printed
    found = table(printed)
    assert found["n2"]["score %"] == "50.0"
    assert found["n2"]["another piece"] == "1"
    assert found["n4"]["score %"] == "100"
    assert found["n4"]["card %"] == "0"
    assert found["n4"]["evalscope %"] == "100"
    assert "n2 8,193-16,384" in found
    assert "openbench and evalscope count 3 of 3 rows in another bin" in printed


def packed_with_zstd(path: Path, name: str, content: bytes) -> None:
    """A zip file with one entry as Inspect writes it today; `zipfile` cannot before Python 3.14."""
    pyarrow = pytest.importorskip("pyarrow")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, bytes(pyarrow.compress(content, codec="zstd", asbytes=True)))
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    for at in (8, central + 10):
        struct.pack_into("<H", data, at, 93)
    for at in (22, central + 24):
        struct.pack_into("<I", data, at, len(content))
    path.write_bytes(data)


def test_a_log_that_is_packed_with_zstd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = graph_row(1)
    output = {"choices": [{"message": {"content": f"Final Answer: [{row['answer_nodes'][0]}]"}}]}
    sample = {"id": 1, "input": row["prompt"], "target": row["answer_nodes"], "output": output, "metadata": {}}
    packed_with_zstd(tmp_path / "log.eval", "samples/1_epoch_1.json", json.dumps(sample).encode())
    assert main(["graphwalks", str(tmp_path / "log.eval")]) == 0
    assert table(capsys.readouterr().out)["overall"]["score %"] == "100"


def test_a_failed_request_is_in_no_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = graph_row(1)
    sample = {"id": 1, "input": row["prompt"], "target": row["answer_nodes"], "output": {}, "metadata": {}}
    good = sample | {"output": {"choices": [{"message": {"content": f"Final Answer: [{row['answer_nodes'][0]}]"}}]}}
    log = {"samples": [sample | {"error": {"message": "too long"}}, good]}
    (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
    assert main(["graphwalks", str(tmp_path / "log.json"), "--out", str(tmp_path / "o.json")]) == 0
    found = table(capsys.readouterr().out)
    assert found["overall"]["score %"] == "100"
    assert found["overall"]["n"] == "1"
    items = json.loads((tmp_path / "o.json").read_text())["answers"][0]["items"]
    assert (items[0]["outcome"], items[0]["score"], items[0]["why"]) == ("error", None, "too long")


def test_lm_eval_s_samples_of_graphwalks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [graph_row(number, "bfs" if number % 2 else "parents") for number in range(4)]
    said = [f"Final Answer: [{', '.join(row['answer_nodes'])}]\n" for row in rows]
    samples = [
        {"doc_id": at, "doc": row, "resps": [[text]], "filtered_resps": [text], "f1": 1.0}
        for at, (row, text) in enumerate(zip(rows, said, strict=True))
    ]
    assert main(["graphwalks", lines_of(tmp_path / "samples_graphwalks.jsonl", samples)]) == 0
    found = table(capsys.readouterr().out)
    assert found["overall"]["score %"] == "100"
    assert found["bfs"]["openbench %"] == "0"
    assert found["bfs"]["lm_eval %"] == "100"
    assert found["parents"]["lm_eval %"] == "50.0"  # one of them has an empty key


def test_lm_eval_s_likelihoods_are_letters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [longbench_row(number) for number in range(4)]
    samples = [
        {
            "doc_id": at,
            "doc": row | {"answer": at},
            "resps": [[[str(-1.0 - abs(choice - at)), "False"]] for choice in range(4)],
        }
        for at, row in enumerate(rows)
    ]
    assert main(["longbench-v2", lines_of(tmp_path / "s.jsonl", samples)]) == 0
    assert table(capsys.readouterr().out)["overall"]["score %"] == "100"


def test_evalscope_s_reviews_and_predictions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [longbench_row(number) for number in range(6)]
    reviews = [
        {
            "index": at,
            "target": row["answer"],
            "sample_score": {
                "score": {"value": {"acc": 1.0}, "prediction": f"<think>Is it A?</think>ANSWER: {row['answer']}"},
                "sample_metadata": {"length": row["length"]},
            },
        }
        for at, row in enumerate(rows)
    ]
    assert main(["longbench-v2", lines_of(tmp_path / "r.jsonl", reviews)]) == 0
    found = table(capsys.readouterr().out)
    assert found["overall"]["score %"] == found["short"]["evalscope %"] == "100"
    assert found["overall"]["authors %"] == "0"
    predictions = [
        {
            "index": 7 - at,  # numbers of some harnesses begin anew in every part
            "model_output": {"choices": [{"message": {"content": f"The correct answer is ({row['answer']})"}}]},
            "messages": [{"role": "user", "content": f"Read. {row['question']}"}],
        }
        for at, row in enumerate(rows)
    ]
    predictions[5]["messages"] = [{"role": "user", "content": "another question"}]
    data = written(tmp_path / "data.json", rows)
    assert main(["longbench-v2", lines_of(tmp_path / "p.jsonl", predictions), "--data", data]) == 0
    printed = capsys.readouterr().out
    assert table(printed)["overall"]["authors %"] == "100"
    assert table(printed)["overall"]["n"] == "5"
    assert "left out, since the data has no row of theirs: 1" in printed
    assert "1 of 6 rows have no answer here: the score is of the others" in printed


def test_the_authors_own_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [longbench_row(number) | {"response": "The correct answer is (A)", "judge": True} for number in range(4)]
    rows[1]["response"] = ""
    assert main(["longbench-v2", lines_of(tmp_path / "model.jsonl", rows)]) == 0
    printed = capsys.readouterr().out
    found = table(printed)
    assert "as LongBench's result.py prints it, 3 replies: overall 33.3, easy 50.0, hard 0.0, short 50.0," in printed
    assert found["overall"]["score %"] == "25.0"
    assert found["overall"]["authors %"] == "33.3"  # an empty reply is not in the authors' files


def test_eval_hub_s_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [deepmind_row(number) for number in range(2)]
    rows = [row | {"prediction": f"Sure: {row['answer']}"} for row in rows]
    assert main(["mrcr", written(tmp_path / "results.csv", rows)]) == 0
    found = table(capsys.readouterr().out)
    assert found["overall"]["deepmind %"] == "100"
    assert found["overall"]["score %"] == "0"
    assert found["overall"]["no string"] == "2"


@pytest.mark.parametrize("key", ["{}", "n2_q{:04}", "openai_mrcr-len8192-depthall-n2_q{:04}-r0"])
def test_plain_rows_with_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str) -> None:
    rows = [mrcr_row(number) for number in range(3)]
    said = [{"id": key.format(at), "answer": row["answer"]} for at, row in enumerate(rows)]
    data = written(tmp_path / "m.parquet", rows)
    assert main(["mrcr", lines_of(tmp_path / "a.jsonl", said), "--data", data]) == 0
    assert table(capsys.readouterr().out)["n2"]["score %"] == "100"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", "", "has no answers"),
        ("a.jsonl", '{"id": 1}\n', "has no reply"),
        ("a.jsonl", "{no\n", "cannot be read"),
        ("a.eval", "PK?", "cannot be read"),
        ("a.jsonl", '{"id": 1, "answer": "x"}\n', "tells no right answers"),
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
    assert main(["graphwalks", lines_of(tmp_path / "a.jsonl", [{"id": 99, "answer": "x"}]), "--data", data]) == 2
    assert f"has no row of {data}: give rows with its ids" in capsys.readouterr().err
