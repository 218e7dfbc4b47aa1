"""`summary.json`: small, for machines."""

import json

import needlework
from needlework.core.record import Record
from needlework.results.files.json_files import results_bytes, summary_object, write_summary
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.tasks import GateRow

MANIFEST = {
    "started": "2026-11-22T10:00:00+00:00",
    "commit": "0123456789ab",
    "command": ["pytest", "benchmarks"],
    "options": {"preset": "quick", "seed": 3, "judge": ["openai:a"]},
    "models": {"mock:perfect": {"window": 8192, "dtype": "bfloat16", "rope": {"factor": 2.0}}},
    "versions": {"pytest": "9.2.0"},
}
GATE = GateRow("score >= 0.9", "all", "fail", 0.5, 0.2, 0.8, 95.0, 12, "", 12)


def report(make_record, **more):
    records = [
        make_record(model="mock:perfect", length=length, depth=depth, repeat=repeat, outcome=outcome)
        for length, outcome in ((500, "found"), (1000, "found"), (2000, "wrong"))
        for depth in (0.0, 100.0)
        for repeat in range(30)
    ]
    return run_report(records, facts=run_facts(MANIFEST, "nightly"), gates=[GATE], **more)


def test_it_says_which_run_it_is_what_answered_and_what_came_out(make_record, tmp_path):
    whole = report(make_record)
    write_summary(tmp_path / "summary.json", whole)
    assert (tmp_path / "summary.json").stat().st_size < 10_000  # however many records there are
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))

    assert summary["run"] | {"versions": {}, "ended": None} == {
        "name": "nightly", "started": "2026-11-22T10:00:00+00:00", "ended": None, "commit": "0123456789ab",
        "command": ["pytest", "benchmarks"], "preset": "quick", "seed": 3, "judges": ["openai:a"],
        "judge_prompt_sha256": None, "versions": {},
    }  # fmt: skip
    (model,), (panel,) = summary["models"], summary["panels"]
    assert (model["window"], model["facts"]["rope"]) == (8192, {"factor": 2.0})
    assert (summary["verdict"], summary["gates"][0]["verdict"]) == ("fail", "fail")
    assert summary["outcomes"] == {"found": 120, "wrong": 60}
    length = panel["effective_length"][0]
    assert (length["low"], length["point"], length["high"], length["status"]) == (1000, 1000, 1000, "reached")
    assert [row["score"] for row in panel["lengths"]] == [1, 1, 0]
    assert panel["low"] < panel["score"] < panel["high"]
    results = json.loads(results_bytes(whole))
    assert (results["run"], results["models"]) == (summary["run"], summary["models"])
    assert {"low", "point", "high"} <= results["statistics"][0]["effective_length"][0].keys()


def test_a_run_without_a_manifest_has_one_too(make_record):
    assert summary_object(run_report([make_record()]))["run"]["name"] is None
    assert summary_object(run_report([]))["panels"] == []


def test_the_schema_of_a_record_is_printed(capsys):
    assert needlework.main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(Record.__struct_fields__) == schema["$defs"]["Record"]["properties"].keys()
