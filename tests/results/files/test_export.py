"""`needlework export`: logs of inspect_ai, read by its own reader where it is installed."""

import json

import pytest

import needlework
from needlework.results.files.json_files import write_json
from needlework.results.statistics.run_report import run_report

OUTCOMES = ("found", "wrong", "partial", "censored", "error")


@pytest.fixture
def run(make_record, tmp_path):
    """Ten trials of a run of a model whose key was given on the command line."""
    records = [
        make_record(
            repeat=repeat,
            outcome=OUTCOMES[repeat % 5],
            depth=None if repeat == 9 else 50.0,
            error={"kind": "timeout", "message": "gone"} if repeat % 5 == 4 else None,
            response={} if repeat % 5 == 4 else {"text": "It is 4711 \ud800.", "finish_reason": "stop"},
            id=f"niah-r{repeat}",
        )
        for repeat in range(10)
    ]
    write_json(tmp_path / "r" / "results.json", run_report(records))
    manifest = {
        "started": "2026-01-02T03:04:05+00:00",
        "command": ["pytest", "--model-arg", "api_key=sk-secret"],
        "options": {"model_arg": ["api_key=sk-secret"]},
    }
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return tmp_path / "r"


def exported(run):
    assert needlework.main(["export", str(run), "--to", "inspect"]) == 0
    (path,) = (run / "inspect").iterdir()
    assert b"sk-secret" not in path.read_bytes()
    return path


def test_an_inspect_log_has_every_trial_and_its_score(run):
    path = exported(run)
    log = json.loads(path.read_text(encoding="utf-8"))

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


def test_inspects_own_reader_opens_it(run):
    """Needs inspect_ai, which no extra brings: `pip install inspect_ai`."""
    log = pytest.importorskip("inspect_ai.log")
    found = log.read_eval_log(str(exported(run)))

    assert (found.status, found.results.scores[0].metrics["mean"].value) == ("success", 0.5)
    assert [sample.metadata["outcome"] for sample in found.samples] == [*OUTCOMES] * 2
