"""results.json and results.csv: what is written can be read, by machines and by spreadsheets."""

import csv
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.files.csv_files import COLUMNS, write_cells, write_csv
from needlework.results.files.json_files import read_json, results_bytes, write_json
from needlework.results.statistics.panels import OUTCOMES, summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.style import clean
from tests.results.clopper_pearson import clopper_pearson


def read_rows(path):
    """The rows without the apostrophes that keep spreadsheets from reading a text as a formula."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: text.removeprefix("'") for name, text in row.items()} for row in csv.DictReader(file)]


def test_json_round_trip_keeps_every_field(make_record, tmp_path):
    records = [make_record(depth=None, repeat=1), make_record(length=500), make_record(answer="四七一一", depth=12.5)]
    write_json(tmp_path / "new" / "results.json", run_report(records))
    again = read_json(tmp_path / "new" / "results.json")

    assert [record.length for record in again] == [500, 1000, 1000]
    assert [record.depth for record in again] == [50.0, 12.5, None]
    assert sorted(again, key=str) == sorted(records, key=str)
    assert "四七一一" in (tmp_path / "new" / "results.json").read_text(encoding="utf-8")
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "results.json"]


def test_equal_runs_differ_only_in_timing(make_record):
    first = [make_record(repeat=i, timing={"latency_s": i}) for i in range(3)]
    second = [make_record(repeat=i, timing={"latency_s": 9}, details={"recipe": "r"}) for i in (2, 0, 1)]
    texts = [json.loads(results_bytes(run_report(records))) for records in (first, second)]

    assert texts[0] != texts[1]
    for text in texts:
        del text["latency"]
        for record in text["records"]:
            del record["timing"]
    assert json.dumps(texts[0]) == json.dumps(texts[1])


def test_json_never_has_nan(make_record):
    odd = {"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": float("-inf")}}
    content = json.loads(results_bytes(run_report([make_record(details={"score": odd})])), parse_constant=pytest.fail)
    assert content["records"][0]["details"]["score"] == {"a": None, "b": [None, 1.5], "c": {"d": None}}


def test_json_summary_has_the_denominators(make_record):
    names = ("found", "censored", "invalid", "error", "error")
    report = run_report([make_record(repeat=i, outcome=name) for i, name in enumerate(names)])
    (panel,) = json.loads(results_bytes(report))["summary"]

    overall = panel["overall"]
    assert (overall["n"], overall["mean"], overall["interval"]) == (1, 1.0, None)
    assert (overall["censored"], overall["invalid"], overall["skipped"], overall["error"]) == (1, 1, 0, 2)
    assert overall["range"] == [0.5, 1.0]
    for part in ("cells", "columns", "rows"):
        (group,) = panel[part]
        assert group["outcomes"] == {"found": 1, "censored": 1, "invalid": 1, "error": 2}
        assert (group["n"], group["trials"], group["mean"]) == (1, 5, 1.0)
        assert (group["low"], group["high"], group["clusters"]) == (None, None, 1)


def test_cells_csv_has_the_denominators_of_every_cell(make_record, tmp_path):
    names = ("found", "wrong", "censored", "error")
    records = [make_record(repeat=i, outcome=name, model="=cmd") for i, name in enumerate(names)]
    panels = summarise([*records, make_record(model="=cmd", depth=None, outcome="skipped")])
    write_cells(tmp_path / "cells.csv", panels)
    with (tmp_path / "cells.csv").open(encoding="utf-8", newline="") as file:
        scored, skipped = csv.DictReader(file)

    assert (scored["model"], scored["length"], scored["depth"]) == ("'=cmd", "1000", "50")
    assert (scored["n"], scored["trials"], scored["score"], scored["interval"]) == ("2", "4", "0.5", "gaffke")
    assert (float(scored["low"]), float(scored["high"])) == pytest.approx(clopper_pearson(0.5, 2))
    assert [scored[name] for name in OUTCOMES] == ["1", "0", "1", "0", "0", "0", "1", "0", "0", "0", "1"]
    assert (skipped["depth"], skipped["score"], skipped["n"], skipped["skipped"]) == ("all", "", "0", "1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not JSON"),
        ("[1, 2]", "no list of records"),
        ('{"records": 3}', "no list of records"),
        ('{"schema": 99, "records": []}', "update Needlework"),
        ('{"schema": 1, "records": [3]}', "record 1 is none: Expected `object`, got `int`"),
        ('{"schema": 1, "records": [{"model": "m"}]}', "record 1 is none: Object missing required field `task`"),
    ],
)
def test_a_wrong_json_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "results.json"
    path.write_text(content)

    with pytest.raises(InputError, match=message) as caught:
        read_json(path)
    assert "\n" not in str(caught.value)


def test_csv_has_one_row_for_each_trial(make_record, tmp_path):
    failed = make_record(
        depth=None,
        outcome="error",
        answer="",
        prompt={},
        response={},
        timing={},
        error={"kind": "timeout", "message": "60 s"},
    )
    write_csv(tmp_path / "r.csv", [failed, make_record()])
    first, second = read_rows(tmp_path / "r.csv")

    assert first["depth"] == "50"
    assert (first["achieved_depth"], first["score"], first["prompt_tokens"]) == ("49.9", "1.0", "980")
    assert (first["latency_s"], first["ttft_s"], first["tokens_per_s"]) == ("0.25", "0.05", "20.0")
    assert (second["depth"], second["score"], second["error_kind"]) == ("all", "", "timeout")
    assert list(first) == list(COLUMNS)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "'=1", "''=1"])
def test_no_cell_is_a_formula(make_record, tmp_path, text):
    write_csv(tmp_path / "r.csv", [make_record(answer=text, needle="n")])
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file))["answer"] == f"'{text}".replace("\r", "\n")


def test_an_answer_is_what_the_model_said_without_escapes_and_what_the_scorer_took(make_record, tmp_path):
    response, escapes = {"text": "It was B7, or so."}, "a\x00b\x1b[31mred\x1b[0m\x1b]0;title\x07c\x07\x9bd\u0085e"
    records = [
        make_record(answer=response["text"], read_as="b7", response=response),
        make_record(outcome="unclear", answer="", response=response, repeat=1),
        make_record(answer=escapes, response={}, repeat=2),
    ]
    write_csv(tmp_path / "r.csv", records)
    rows = [(row["answer"], row["read_as"]) for row in read_rows(tmp_path / "r.csv")]
    assert rows == [("It was B7, or so.", "b7"), ("It was B7, or so.", ""), ("abredcde", "")]
    assert not re.search(rb"[\x00\x1b]", (tmp_path / "r.csv").read_bytes())


@given(text=st.text(max_size=60), model=st.text(min_size=1, max_size=10))
def test_any_text_survives_both_reports(make_record, tmp_path, text, model):
    record = make_record(answer=text, model=model, question=text, expected=[text], details={text: [text]})
    write_json(tmp_path / "r.json", run_report([record]))
    write_csv(tmp_path / "r.csv", [record])
    row = read_rows(tmp_path / "r.csv")[0]

    assert read_json(tmp_path / "r.json") == [record]
    shown = tuple(clean(each).removeprefix("'") for each in (text, model, text))
    assert (row["answer"], row["model"], row["question"]) == shown
