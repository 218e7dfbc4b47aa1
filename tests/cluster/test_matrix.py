"""`needlework matrix`: its file, runs of models that need nothing, comparison, exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import needlework
from needlework.cluster.matrix import command, read_matrix
from needlework.core.errors import InputError

ONE = '[[configuration]]\nlabel = "a"\n'


@pytest.fixture
def read(tmp_path):
    def matrix(text):
        path = tmp_path / "kv.toml"
        path.write_text(text, encoding="utf-8")
        return read_matrix(path)

    return matrix


def test_a_configuration_adds_to_the_shared_options_or_replaces_them(read):
    matrix = read(
        'model = "a.gguf"\nserve = "llama.cpp"\nserve_arg = ["window=4k"]\nlengths = [500, 1000]\ncanary = true\n'
        '[[configuration]]\nlabel = "KV f16"\n'
        '[[configuration]]\nlabel = "q8"\nserve_arg = ["kv-dtype=q8_0"]\nmodel = "b.gguf"\nlengths = "1k"\n'
    )
    shared = {"--serve=llama.cpp", "--serve-arg=window=4k", "--canary"}
    own = [{"--model=a.gguf", "--lengths=500,1000"}, {"--model=b.gguf", "--serve-arg=kv-dtype=q8_0", "--lengths=1k"}]

    assert matrix.name == "kv"
    assert [(each.label, each.folder) for each in matrix.configurations] == [("KV f16", "KV_f16"), ("q8", "q8")]
    assert [set(each.words) for each in matrix.configurations] == [shared | words for words in own]


def test_the_command_names_the_runs_folder_and_benchmarks(read, tmp_path):
    serve = 'serve = "my-server --port {port}"\nmodel = "openai:own"\n'
    ours = read(f'name = "series"\nresults_dir = "out"\npytest = ["-n", "2"]\n{serve}{ONE}')
    theirs = read(f'pytest = ["test_mine.py"]\n{ONE}')
    words = command(ours, ours.configurations[0], tmp_path)

    assert "--pyargs needlework.benchmarks -n 2 " in " ".join(words)
    assert words[-2:] == [f"--results-dir={tmp_path / 'out' / 'series'}", "--run-name=a"]
    assert "--serve=my-server --port {port}" in words
    assert "--pyargs" not in command(theirs, theirs.configurations[0], tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"has no \[\[configuration\]\]"),
        ("configuration = 3", r"has no \[\[configuration\]\]"),
        ("[[configuration]]\nmodel = 'smollm2'", "label of configuration 1"),
        (ONE + ONE, "is there twice"),
        ("[[configuration]]\nlabel = 'comparison'", "folder of the matrix itself"),
        (f"{ONE}lenghts = '1k'", "a: 'lenghts': did you mean lengths"),
        (f"{ONE}repeats = 0", "repeats.*1 or more"),
        (f"{ONE}run_name = 'b'", "run_name.*is not for a matrix"),
        (f"{ONE}serve = 'vlm'", "did you mean vllm"),
        (f"{ONE}serve_arg = ['window=4k']", "there is no serve"),
        (f"pytest = '-n2'\n{ONE}", "is a list of words"),
        (f"name = 'a/b'\n{ONE}", "the name of a folder, without slashes"),
        ("[[configuration]\n", "is not valid TOML"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_place(read, text, message):
    with pytest.raises(InputError, match=message) as error:
        read(text)
    assert "\n" not in str(error.value)


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
