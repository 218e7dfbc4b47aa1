"""`needlework score`: predictions made without needlework, by every rule in one table."""

import json
import sys
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from zipfile import ZipFile

import pytest

from needlework.haystack_fixtures.tasks.published.leval_files import CLOSED
from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS as TASKS
from tests.published_rows import deepmind_row, graph_row, longbench_row, mrcr_row, written
from tests.results.builders import exit_code, output, refusal, write_rows


def table(text):
    """The rows of the only table printed, by group, as cells by head."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("group"))
    head, *rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[at:]]
    return {row[0]: dict(zip(head[1:], row[1:], strict=False)) for row in rows if len(row) > 1}


@pytest.fixture
def score(tmp_path, capsys):
    """Score rows; the table that was printed, and all of the text."""

    def run(benchmark, rows, *words):
        text = output(capsys, "score", benchmark, write_rows(tmp_path / "rows.jsonl", rows), *words)
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
    ZipFile(tmp_path / "log.eval", "w").close()
    found = table(output(capsys, "score", "graphwalks", tmp_path / "log.eval"))["overall"]
    assert (found["score %"], found["n"]) == ("100", "1")


@pytest.mark.parametrize(
    "key", ["{}", "n2_q{:04}", "openai_mrcr-len8192-depthall-n2_q{:04}-r0"], ids=["number", "label", "trial"]
)
def test_plain_rows_with_the_data(tmp_path, score, key):
    rows = [mrcr_row(number) for number in range(3)]
    said = [{"id": key.format(at), "prediction": row["answer"]} for at, row in enumerate(rows)]
    groups, _ = score("mrcr", said, "--data", written(tmp_path / "m.parquet", rows))
    assert groups["n2"]["score %"] == "100"


NO_ANSWERS = {"other.json": '{"a": 1}', "binary.json": "\x80", "empty.json": "", "empty.eval": "", "a.txt": "?"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", "has no answers"),
        ("a.jsonl", '{"id": 1}\n', "has no text in 'prediction'"),
        ("a.jsonl", "{no\n", "line 1': has no text"),
        ("a.jsonl", '{"id": 1, "prediction": "x"}\n', "tells no right answers"),
        ("with data.jsonl", '{"id": 99, "prediction": "x"}\n', "data.jsonl: give rows with its ids"),
        ("log.json", '{"eval": {}}', "a log of inspect_ai needs its reader: pip install inspect-ai\n"),
        *((name, content, f"{name}': is no file of answers: give jsonl") for name, content in NO_ANSWERS.items()),
        ("binary.jsonl", "\x80", "is no UTF-8 text: give jsonl"),
    ],
)
def test_what_cannot_be_scored_is_one_line(tmp_path, capsys, monkeypatch, name, content, message):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    (tmp_path / name).write_text(content, encoding="latin-1")
    data = ["--data", written(tmp_path / "data.jsonl", [graph_row(0)])] if "data" in name else []
    assert message in refusal(capsys, "score", "graphwalks", tmp_path / name, *data)


LEVAL = ("score", "leval")
_GOLDS = {
    "letters": "AC",
    "letter": "B",
    "math": "18",
    "code": "[1 2]",
    "topic": "The role of art in society",
    "sci_fi": "True [fact: False]",
    "f1": "a short answer",
    "rouge": "a short summary",
}


def _rows(task, model="m", n=None, **fields):
    about = TASKS[task]
    gold = _GOLDS[about.scorer.removeprefix("leval_")]
    for at in range(about.expected if n is None else n):
        question = f"What is the {('first', 'second', 'third')[at % 3]} topic we discussed?"
        row = {"query": question, "gt": gold, f"{model}_pred": gold, "evaluation": about.evaluation}
        yield row | fields


@pytest.fixture
def write(tmp_path):
    """Write rows to TASK.pred.jsonl; a row that is text stays as it is."""

    def build(task, rows=None, folder=".", name=None):
        path = tmp_path / folder / (name or f"{task}.pred.jsonl")
        return write_rows(path, _rows(task) if rows is None else rows)

    return build


def test_a_complete_file_has_scores_floor_ceiling_and_interval(write, capsys):
    out = output(capsys, *LEVAL, write("gsm100"))
    [row] = [line.split() for line in out.splitlines() if line.startswith("gsm100")]
    assert row == ["gsm100", "exact_match", "100.00", "100.00", "100.00", "100.00", "100", "of", "100", "96.4–100"]
    assert "leval_math_compat v1, leval_math v1" in out
    assert "no closed average" in out


def test_an_incomplete_task_has_no_number(write, capsys, tmp_path):
    path = write("review_summ", _rows("review_summ", n=48))
    out = output(capsys, *LEVAL, path, "--out", tmp_path / "out.json")
    assert "48 of 120" in out
    assert "100.00" not in out
    assert "no ROUGE-L average, of 7 tasks: gov_report_summ 0 of 13" in out
    [model] = json.loads((tmp_path / "out.json").read_text())["models"]
    assert model["tasks"][0]["metrics"] == {}
    assert len(model["tasks"][0]["items"]) == 48
    assert all(average["compat"]["score"] is None for average in model["averages"])


def test_the_closed_average_is_of_six_tasks(write, tmp_path, capsys):
    for task in CLOSED:
        rows = [*_rows(task)]
        if task == "gsm100":
            rows = [row | {"m_pred": "The answer is 19."} for row in rows]
        write(task, rows, folder="all")
    out = output(capsys, *LEVAL, tmp_path / "all", "--out", tmp_path / "out.json")
    [model] = json.loads((tmp_path / "out.json").read_text())["models"]
    [average] = model["averages"]
    assert (average["name"], average["n"], average["expected"]) == ("closed average", 897, 897)
    assert average["compat"]["score"] == pytest.approx(100 * 5 / 6, abs=1e-4)
    assert average["compat"]["low"] < average["compat"]["score"] < average["compat"]["high"]
    assert "83.33" in out


def test_every_item_is_in_the_file(write, tmp_path):
    rows = [*_rows("coursera")]
    rows[3]["m_pred"] = "A, C"
    assert exit_code(*LEVAL, write("coursera", rows), "--out", tmp_path / "out.json") == 0
    [task] = json.loads((tmp_path / "out.json").read_text())["models"][0]["tasks"]
    item = task["items"][3]
    assert (item["line"], item["compat"]["score"], item["strict"]["score"]) == (4, 0.25, 1.0)
    assert (item["compat"]["details"]["taken"], item["compat"]["details"]["gold"]) == ("A", "AC")
    assert task["scorers"] == {"compat": "leval_letters_compat v1", "strict": "leval_letters v2"}


def test_a_file_of_another_name_needs_its_task(write, capsys):
    # Never the task of a folder.
    assert "leval_letter v2" in output(capsys, *LEVAL, write("tpo", folder="coursera/codeU"))
    path = write("tpo", name="mine.jsonl", folder="tpo")
    assert "is not called TASK.pred.jsonl" in refusal(capsys, *LEVAL, path)
    assert "269 of 269" in output(capsys, *LEVAL, path, "--task", "tpo")
    assert "use one of coursera" in refusal(capsys, *LEVAL, path, "--task", "tfo")
    assert "goes with one prediction file" in refusal(capsys, *LEVAL, path.parent, "--task", "tpo")


@pytest.mark.parametrize(
    ("task", "rows", "line"),
    [
        ("multidoc_qa", [*_rows("tpo")], "its rows are for exam, those of multidoc_qa for f1"),
        ("tpo", [], "is empty"),
        ("tpo", ["", "  "], "is empty"),
        ("tpo", [{"gt": "A", "evaluation": "exam"}], "no row has a key MODEL_pred"),
        ("tpo", ["not JSON"], "no line of it is a JSON object"),
    ],
)
def test_files_that_cannot_be_scored(write, tmp_path, capsys, task, rows, line):
    assert line in refusal(capsys, *LEVAL, write(task, rows))
    assert "there is no such file" in refusal(capsys, *LEVAL, tmp_path / "coursera.pred.jsonl")
    (tmp_path / "empty").mkdir()
    assert "no TASK.pred.jsonl" in refusal(capsys, *LEVAL, tmp_path / "empty")
    (tmp_path / "gsm100.pred.jsonl").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in refusal(capsys, *LEVAL, tmp_path / "gsm100.pred.jsonl")


def _broken():
    rows = [*_rows("tpo")]
    rows[1:6] = ["{", "[1]", {"evaluation": "exam", "gt": "A"}, rows[0] | {"m_pred": None}, rows[0] | {"gt": 5}]
    rows[7] |= {"evaluation": "f1"}
    return rows


@pytest.mark.parametrize(
    ("name", "rows", "told"),
    [
        ("gsm100", [*_rows("gsm100"), *_rows("gsm100", n=1)], ["101 of 100"]),
        ("tpo", _broken(), ["263 of 269", "tpo: broken rows, 6: line 2: is not a JSON object"]),
        ("sci_fi", [next(_rows("sci_fi")) | {"m_pred": "True"}, *_rows("sci_fi", n=63)],
         ["sci_fi: answers without [fact: ...], 1", "99.22"]),  # 127 of 128
        ("financial_qa", [*_rows("financial_qa"), *_rows("financial_qa", n=8, evaluation="LLM")],
         ["52 of 52", "8 rows are for judges"]),
        ("harbour", [*_rows("tpo", n=4)], ["4 of 4", "harbour: a file of yours, scored as its rows say (leval_letter"]),
        # ROUGE-Lsum of Chinese words is one of the published rule alone.
        ("gov_report_summ", [row | {"m_pred": f"{row['m_pred']} 完"} for row in _rows("gov_report_summ")],
         ["gov_report_summ  rouge1", "13 of 13"]),
    ],
)  # fmt: skip
def test_what_is_said_of_rows(write, capsys, name, rows, told):
    out = output(capsys, *LEVAL, write(name, rows))
    assert [words for words in told if words not in out] == []


def test_answers_of_several_models(write, tmp_path, capsys):
    both = [row | {"other_pred": "19"} for row in _rows("gsm100")]
    path = write("gsm100", both)
    assert "give --model, one of m, other" in refusal(capsys, *LEVAL, path)
    assert "has answers of m, other" in refusal(capsys, *LEVAL, path, "--model", "third")
    out = output(capsys, *LEVAL, path, "--model", "other")
    assert "L-Eval, other" in out
    assert " 0.00" in out
