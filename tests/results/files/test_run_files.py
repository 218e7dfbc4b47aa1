"""What a run writes for machines: results.json, summary.json, CSV, and logs of inspect_ai (`needlework export`)."""

import csv
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.record import Record
from needlework.results.files.csv_files import COLUMNS, csv_text
from needlework.results.files.json_files import results_bytes, write_json
from needlework.results.files.read_run import read_run
from needlework.results.statistics.run_report import run_report
from needlework.results.style import clean
from tests.results.builders import new_record, output, refusal, write_run


def read_rows(path):
    """The rows without the apostrophes against formulas in spreadsheets."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: text.removeprefix("'") for name, text in row.items()} for row in csv.DictReader(file)]


def test_json_round_trip_keeps_every_field(tmp_path):
    records = [new_record(depth=None, repeat=1), new_record(length=500), new_record(answer="四七一一", depth=12.5)]
    write_json(tmp_path / "new" / "results.json", run_report(records))
    again = read_run(tmp_path / "new").records

    assert [record.length for record in again] == [500, 1000, 1000]
    assert [record.depth for record in again] == [50.0, 12.5, None]
    assert sorted(again, key=str) == sorted(records, key=str)
    assert "四七一一" in (tmp_path / "new" / "results.json").read_text(encoding="utf-8")
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "results.json"]


def test_json_never_has_nan():
    odd = {"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": float("-inf")}}
    content = json.loads(results_bytes(run_report([new_record(details={"score": odd})])), parse_constant=pytest.fail)
    assert content["records"][0]["details"]["score"] == {"a": None, "b": [None, 1.5], "c": {"d": None}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty: give a run's folder"),
        ("{", "is not JSON"),
        ("[1, 2]", "no list of records"),
        ('{"records": 3}', "no list of records"),
        ('{"schema": 99, "records": []}', "update Needlework"),
        ('{"schema": 1, "records": [3]}', "record 1 is damaged: Expected `object`, got `int`"),
        ('{"schema": 1, "records": [{"model": "m"}]}', "record 1 is damaged: Object missing required field `task`"),
    ],
)
def test_a_wrong_json_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "results.json"
    path.write_text(content)

    with pytest.raises(InputError, match=message) as caught:
        read_run(path)
    assert "\n" not in str(caught.value)


def test_csv_has_one_row_for_each_trial(tmp_path):
    error = {"kind": "timeout", "message": "60 s"}
    failed = new_record(depth=None, outcome="error", answer="", prompt={}, response={}, timing={}, error=error)
    (tmp_path / "r.csv").write_text(csv_text([failed, new_record()]), encoding="utf-8")
    first, second = read_rows(tmp_path / "r.csv")

    assert first["depth"] == "50"
    assert (first["achieved_depth"], first["score"], first["prompt_tokens"]) == ("49.9", "1.0", "980")
    assert (first["latency_s"], first["ttft_s"], first["tokens_per_s"]) == ("0.25", "0.05", "20.0")
    assert (second["depth"], second["score"], second["error_kind"]) == ("all", "", "timeout")
    assert list(first) == list(COLUMNS)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "'=1", "''=1"])
def test_no_cell_is_a_formula(tmp_path, text):
    (tmp_path / "r.csv").write_text(csv_text([new_record(answer=text, needle="n")]), encoding="utf-8")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file))["answer"] == f"'{text}".replace("\r", "\n")


def test_an_answer_is_what_the_model_said_without_escapes_and_what_the_scorer_took(tmp_path):
    response, escapes = {"text": "It was B7, or so."}, "a\x00b\x1b[31mred\x1b[0m\x1b]0;title\x07c\x07\x9bd\u0085e"
    records = [
        new_record(answer=response["text"], read_as="b7", response=response),
        new_record(outcome="unclear", answer="", response=response, repeat=1),
        new_record(answer=escapes, response={}, repeat=2),
    ]
    (tmp_path / "r.csv").write_text(csv_text(records), encoding="utf-8")
    rows = [(row["answer"], row["read_as"]) for row in read_rows(tmp_path / "r.csv")]
    assert rows == [("It was B7, or so.", "b7"), ("It was B7, or so.", ""), ("abredcde", "")]
    assert not re.search(rb"[\x00\x1b]", (tmp_path / "r.csv").read_bytes())


@given(text=st.text(max_size=60), model=st.text(min_size=1, max_size=10))
def test_any_text_survives_both_reports(tmp_path, text, model):
    record = new_record(answer=text, model=model, question=text, expected=[text], details={text: [text]})
    write_json(tmp_path / "r.json", run_report([record]))
    (tmp_path / "r.csv").write_text(csv_text([record]), encoding="utf-8")
    row = read_rows(tmp_path / "r.csv")[0]

    assert read_run(tmp_path / "r.json").records == (record,)
    shown = tuple(clean(each).removeprefix("'") for each in (text, model, text))
    assert (row["answer"], row["model"], row["question"]) == shown


def test_the_schema_of_a_record_is_printed(capsys):
    schema = json.loads(output(capsys, "schema"))
    assert set(Record.__struct_fields__) == schema["$defs"]["Record"]["properties"].keys()


EXPORTED = ("found", "wrong", "partial", "censored", "error")


@pytest.fixture
def run(tmp_path):
    """Ten trials of a run of a model whose key was given on the command line."""
    records = [
        new_record(
            repeat=repeat,
            outcome=EXPORTED[repeat % 5],
            depth=None if repeat == 9 else 50.0,
            error={"kind": "timeout", "message": "gone"} if repeat % 5 == 4 else None,
            response={} if repeat % 5 == 4 else {"text": "It is 4711 \ud800.", "finish_reason": "stop"},
            id=f"niah-r{repeat}",
        )
        for repeat in range(10)
    ]
    manifest = {
        "started": "2026-01-02T03:04:05+00:00",
        "command": ["pytest", "--model-arg", "api_key=sk-secret"],
        "options": {"model_arg": ["api_key=sk-secret"]},
    }
    return write_run(tmp_path / "r", records, manifest=manifest)


def test_an_inspect_log_has_every_trial_and_its_score(run, capsys):
    output(capsys, "export", run, "--to", "inspect")
    (path,) = (run / "inspect").iterdir()
    log = json.loads(path.read_text(encoding="utf-8"))

    assert b"sk-secret" not in path.read_bytes()
    assert path.name.startswith("2026-01-02T03-04-05-00-00_niah-mock_")
    assert (log["version"], log["status"], log["eval"]["task"], log["eval"]["model"]) == (2, "success", "niah", "mock")
    assert log["eval"]["dataset"]["sample_ids"] == [f"niah-r{repeat}" for repeat in range(10)]
    (score,) = log["results"]["scores"]
    metrics = {name: metric["value"] for name, metric in score["metrics"].items()}
    # Two answers are undecided: as misses, and as hits.
    expected = {"mean": 0.5, "n": 6, "trials": 10, "undecided": 2, "range_low": 3 / 8, "range_high": 5 / 8}
    assert metrics == metrics | expected
    assert [each["scores"].get("match", {}).get("value") for each in log["samples"][:5]] == [1, 0, 0.5, None, None]
    assert log["samples"][4]["error"]["message"] == "timeout: gone"


def test_every_eval_ever_has_a_result_for_each_length_and_a_line_for_each_scored_trial(run, capsys):
    """Both files were also validated against the published schemas, version 0.3.0 (evaleval/every_eval_ever)."""
    written = output(capsys, "export", run, "--to", "every-eval-ever").split()
    results, samples = sorted(map(Path, written), key=lambda path: path.suffix)
    content = json.loads(results.read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]

    assert results.relative_to(run / "every-eval-ever").parent.as_posix() == "data/needlework/unnamed/mock"
    assert (content["schema_version"], content["evaluation_id"]) == ("0.3.0", "needlework/mock/1767323045")
    (result,) = content["evaluation_results"]
    assert result["score_details"]["score"] == 0.5
    assert result["score_details"]["details"] == {"trials": "10", "without_score": "4"}
    assert set(result["score_details"]["uncertainty"]["confidence_interval"]) > {"lower", "upper"}
    assert result["metric_config"]["additional_details"]["length_tokens"] == "1000"
    listed = content["detailed_evaluation_results"]
    assert listed["checksum"] == sha256(samples.read_bytes()).hexdigest()
    assert listed["total_rows"] == len(lines) == 6
    assert {line["evaluation_id"] for line in lines} == {content["evaluation_id"]}
    assert [line["evaluation"] for line in lines[:2]] == [
        {"score": 1.0, "is_correct": True}, {"score": 0.0, "is_correct": False},
    ]  # fmt: skip
    assert b"sk-secret" not in results.read_bytes() + samples.read_bytes()


def test_results_for_the_hub_name_the_benchmark_that_they_belong_to(run, capsys):
    to_hub = ("export", run, "--to", "hugging-face")
    path = Path(output(capsys, *to_hub, "--dataset", "me/needles").strip())
    (row,) = yaml.safe_load(path.read_text(encoding="utf-8"))

    assert path.relative_to(run / "hugging-face").as_posix() == "mock/.eval_results/needlework.yaml"
    assert (row["dataset"], row["value"]) == ({"id": "me/needles", "task_id": "niah"}, 50.0)
    assert row["date"] == "2026-01-02T03:04:05+00:00"
    assert "n 6 of 10 trials; 95 % interval " in row["notes"]
    assert "'niah': have no benchmark on the Hub" in refusal(capsys, *to_hub)
