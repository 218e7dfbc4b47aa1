"""`needlework score leval`: good files, broken ones, and files of something else."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import needlework
from needlework.haystack_fixtures.tasks.published.leval_files import CLOSED
from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS as TASKS

Write = Callable[..., Path]
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
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (row if isinstance(row, str) else json.dumps(row) for row in (_rows(task) if rows is None else rows))
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return build


def _score(*words):
    return needlework.main(["score", "leval", *map(str, words)])


def _refusal(capsys, *words):
    assert _score(*words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err


def test_a_complete_file_has_scores_floor_ceiling_and_interval(write, capsys):
    assert _score(write("gsm100")) == 0
    out = capsys.readouterr().out
    [row] = [line.split() for line in out.splitlines() if line.startswith("gsm100")]
    assert row == ["gsm100", "exact_match", "100.00", "100.00", "100.00", "100.00", "100", "of", "100", "96.4–100.0"]
    assert "leval_math_compat v1, leval_math v1" in out
    assert "no closed average" in out


def test_an_incomplete_task_has_no_number(write, capsys, tmp_path):
    assert _score(write("review_summ", _rows("review_summ", n=48)), "--out", tmp_path / "out.json") == 0
    out = capsys.readouterr().out
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
    assert _score(tmp_path / "all", "--out", tmp_path / "out.json") == 0
    [model] = json.loads((tmp_path / "out.json").read_text())["models"]
    [average] = model["averages"]
    assert (average["name"], average["n"], average["expected"]) == ("closed average", 897, 897)
    assert average["compat"]["score"] == pytest.approx(100 * 5 / 6, abs=1e-4)
    assert average["compat"]["low"] < average["compat"]["score"] < average["compat"]["high"]
    assert "83.33" in capsys.readouterr().out


def test_every_item_is_in_the_file(write, tmp_path):
    rows = [*_rows("coursera")]
    rows[3]["m_pred"] = "A, C"
    assert _score(write("coursera", rows), "--out", tmp_path / "out.json") == 0
    [task] = json.loads((tmp_path / "out.json").read_text())["models"][0]["tasks"]
    item = task["items"][3]
    assert (item["line"], item["compat"]["score"], item["strict"]["score"]) == (4, 0.25, 1.0)
    assert (item["compat"]["details"]["taken"], item["compat"]["details"]["gold"]) == ("A", "AC")
    assert task["scorers"] == {"compat": "leval_letters_compat v1", "strict": "leval_letters v2"}


def test_a_file_of_another_name_needs_its_task(write, capsys):
    assert _score(write("tpo", folder="coursera/codeU")) == 0
    assert "leval_letter v2" in capsys.readouterr().out  # never the task of a folder
    path = write("tpo", name="mine.jsonl", folder="tpo")
    assert "is not called TASK.pred.jsonl" in _refusal(capsys, path)
    assert _score(path, "--task", "tpo") == 0
    assert "269 of 269" in capsys.readouterr().out
    assert "use one of coursera" in _refusal(capsys, path, "--task", "tfo")
    assert "goes with one prediction file" in _refusal(capsys, path.parent, "--task", "tpo")


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
    assert line in _refusal(capsys, write(task, rows))
    assert "there is no such file" in _refusal(capsys, tmp_path / "coursera.pred.jsonl")
    (tmp_path / "empty").mkdir()
    assert "no TASK.pred.jsonl" in _refusal(capsys, tmp_path / "empty")
    (tmp_path / "gsm100.pred.jsonl").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in _refusal(capsys, tmp_path / "gsm100.pred.jsonl")


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
    assert _score(write(name, rows)) == 0
    out = capsys.readouterr().out
    assert [words for words in told if words not in out] == []


def test_answers_of_several_models(write, tmp_path, capsys):
    both = [row | {"other_pred": "19"} for row in _rows("gsm100")]
    path = write("gsm100", both)
    assert "give --model, one of m, other" in _refusal(capsys, path)
    assert "has answers of m, other" in _refusal(capsys, path, "--model", "third")
    assert _score(path, "--model", "other") == 0
    out = capsys.readouterr().out
    assert "L-Eval, other" in out
    assert " 0.00" in out


def test_models_have_tables_of_their_own(write, tmp_path, capsys):
    write("gsm100", folder="runs/a")
    write("gsm100", _rows("gsm100", model="b"), folder="runs/b")
    write("gsm100", _rows("gsm100", evaluation="LLM"), name="notes.pred.jsonl", folder="runs/b")
    assert _score(tmp_path / "runs") == 0
    out = capsys.readouterr().out
    assert out.index("L-Eval, b") < out.index("L-Eval, m")
    assert "passed over" in out
    write("gsm100", folder="runs/c")
    assert "m has gsm100 in" in _refusal(capsys, tmp_path / "runs")


def test_a_full_disk_is_told(write, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert _score(write("gsm100"), "--out", tmp_path / "folder") == 2
    assert "--out" in capsys.readouterr().err


def test_exams_load_neither_models_nor_rouge(write):
    code = (
        f"import sys, needlework; assert needlework.main(['score', 'leval', {str(write('gsm100'))!r}]) == 0;"
        " loaded = {'torch', 'transformers', 'openai', 'tokenizers', 'nltk', 'jieba'} & set(sys.modules);"
        " assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=Path(__file__).parents[3])
