"""What a gate checks of its baseline besides scores: by the rule, and in the words, of `needlework compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.results.compare.command import main
from needlework.results.files.json_files import write_json
from needlework.results.files.read_run import manifest_at
from needlework.results.gates.gate import parse_gate
from needlework.results.gates.gatekeeper import Gatekeeper
from needlework.results.statistics.run_report import run_report

MODEL = "mock:perfect"


@pytest.fixture
def write(make_record, tmp_path):
    """Write a run of one trial whose model has these facts."""

    def run(name, **facts):
        record = make_record(length=400, depth=0.0, model=MODEL)
        write_json(tmp_path / name / "results.json", run_report([record]))
        manifest = {"models": {MODEL: facts}}
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        return tmp_path / name, record

    return run


def keeper(baseline, **options):
    written = {"lengths": "400", "depths": "0", "model": [MODEL], "baseline": [str(baseline)], **options}
    settings = resolve_settings(written, {}, Path())
    return Gatekeeper(settings, grid(settings), [parse_gate("not worse")], Path("nowhere"))


def test_two_kinds_of_numbers_are_refused_in_the_words_of_compare(write, capsys):
    (before, record), (now, _) = write("before", dtype="float32"), write("now", dtype="bfloat16")
    facts = {"models": {MODEL: {"dtype": "bfloat16"}}}
    words = f"one model in two kinds of numbers ({MODEL}: float32 / bfloat16); --allow-different-dtypes compares them"

    with pytest.raises(InputError) as caught:
        keeper(before).check(record, facts)
    assert str(caught.value) == f"--baseline: '{before}': {words}"
    assert main([str(before), str(now), "--format", "svg"]) == 2
    assert words in capsys.readouterr().err

    keeper(before, allow_different_dtypes="true").check(record, facts)
    keeper(before).check(record, {})  # nothing is known of the model yet
    keeper(before).check(record, {"models": {MODEL: {"dtype": "float32"}}})


def test_what_else_differs_is_told_in_the_words_of_compare(write, capsys):
    before, _ = write("before", server="http://a", weights_sha256="1")
    now, _ = write("now", server="http://b", weights_sha256="2")
    found = keeper(before).differences(manifest_at(now / "manifest.json"))

    part = f"  models {MODEL}: server http://a / http://b, weights_sha256 1 / 2"
    assert found == ["differs between the baseline and this run (A / B):", part]
    assert main([str(before), str(now), "--format", "svg"]) == 0
    assert part in capsys.readouterr().out.splitlines()
    assert keeper(before).differences(manifest_at(before / "manifest.json")) == []


def test_a_second_baseline_is_refused():
    with pytest.raises(InputError, match=r"^--baseline: 'a, b': is given 2 times; give one$"):
        resolve_settings({"baseline": ["a", "b"]}, {}, Path())
    assert resolve_settings({}, {"baseline": "a"}, Path()).baseline == "a"
