"""`needlework matrix` on models that need nothing: runs, goes on, compares, and ends with a code for CI."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import needlework

ROOT = Path(__file__).parents[2]
SHARED = (
    'lengths = "300,400"\ndepths = "50"\ncorpus = "pydoc"\ntask = "niah"\npytest = ["-n0", "-p", "no:cacheprovider"]\n'
)


def configuration(label, model, further=""):
    return f'[[configuration]]\nlabel = "{label}"\nmodel = "{model}"\n{further}'


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def written(place, *configurations, shared=SHARED):
    (place / "m.toml").write_text(shared + "".join(configurations))
    return ["matrix", "m.toml"]


@pytest.mark.slow
def test_worse_configurations_are_told_and_fail_and_one_that_cannot_start_stops_none(place, capsys):
    argv = written(
        place,
        configuration("whole", "mock:perfect", "repeats = 8\n"),
        configuration("gone", "hf:/nothing", "repeats = 8\n"),
        configuration("broken", "mock:wrong", "repeats = 8\n"),
        configuration("small", "mock:perfect", 'repeats = 8\nmodel_arg = ["window=350"]\n'),
    )

    assert needlework.main([*argv, "--fail-if", "worse"]) == 1
    out = capsys.readouterr().out
    assert "2/4 gone: ERROR: --model hf: '/nothing': there is no such folder" in out
    assert "small cannot answer 8 of 16 trials that whole scored: all 8 at 400 (8 skipped)" in out
    (row, _) = [line.split() for line in out.splitlines() if line.split()[:1] == ["broken"]]
    assert row[-2:] == ["300", "worse"]
    folder = place / "results" / "runs" / "m" / "comparison"
    assert {path.name for path in folder.iterdir()} == {"report.html", "scores.png", "scores.svg", "comparison.json"}
    summary = json.loads((folder / "comparison.json").read_text())
    assert [each["verdict"] for each in summary["configurations"]] == [None, None, "worse", "worse"]
    # The same command goes on: nothing is asked again.
    assert needlework.main(argv) == 3
    log = (place / "results" / "runs" / "m" / "logs" / "whole.txt").read_text()
    assert "none was asked now" in " ".join(log.split())
    capsys.readouterr()
    assert needlework.main([*argv, "--only", "whole"]) == 0
    assert "whole: done" in capsys.readouterr().out


@pytest.mark.slow
def test_a_length_that_the_file_names_no_longer_is_not_compared(place, capsys):
    both = [configuration("a", "mock:perfect"), configuration("b", "mock:wrong")]
    assert needlework.main(written(place, *both)) == 0
    needlework.main(written(place, *both, shared=SHARED.replace("300,400", "300")))

    assert capsys.readouterr().out.count("pairs: 2") == 1
    comparison = json.loads((place / "results/runs/m/comparison/comparison.json").read_text())
    assert comparison["configurations"][1]["trials"] == 1


@pytest.mark.slow
def test_an_interrupted_matrix_goes_on_from_there(place):
    argv = written(place, configuration("slow", "mock:sleep=0.5", "repeats = 9\n"), configuration("b", "mock:perfect"))
    words = [sys.executable, "-m", "needlework", *argv]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    journal, until = place / "results/runs/m/slow/journal.jsonl", time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[0]

    assert process.returncode == 2
    assert "1/2 slow: interrupted; the same command goes on from here" in said
    before = journal.read_text().splitlines()
    assert 0 < len(before) < 18
    assert subprocess.run(words, check=False).returncode == 0
    assert journal.read_text().splitlines()[: len(before)] == before


@pytest.mark.slow
def test_a_plan_has_the_commands_and_runs_nothing_and_a_wrong_file_or_label_is_one_line(place, capsys):
    argv = written(place, configuration("a", "mock:perfect"))
    assert needlework.main([*argv, "--plan"]) == 0
    out = capsys.readouterr().out
    assert "--model=mock:perfect" in out
    assert "in all: 2 trials" in out
    assert not (place / "results" / "runs" / "m" / "a").exists()

    assert needlework.main(["matrix", "nothing.toml"]) == 2
    assert needlework.main([*argv, "--only", "b"]) == 2
    assert "--only: 'b': the file has a" in capsys.readouterr().err
