"""`--shard I/N` and `needlework merge`: each shard runs its part, and they become the run that one process would have
made, whatever happened to them.
"""

import json
import shutil
from contextlib import contextmanager

import pytest

from needlework.results.merge.command import main
from tests.plugin.conftest import without_timing


@pytest.fixture
def shards(project, monkeypatch):
    """Three shards of 18 trials, in `r`, made from the project's folder."""
    monkeypatch.chdir(project.pytester.path)

    return lambda number, *more, of=3: project.run(
        f"--shard={number}/{of}", "--repeats=3", *more, model="mock:rate=0.7"
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("made") / "shards"


@pytest.fixture
def three(project, shards, made):
    """All of them are in the project's run; they are made once for this file."""
    if not made.exists():
        for number in (1, 2, 3):
            shards(number)
        shutil.copytree(project.runs / "r/shards", made)
    shutil.copytree(made, project.runs / "r/shards", dirs_exist_ok=True)


@contextmanager
def manifest_of(folder):
    """The content of its manifest, which is written back."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    yield content
    path.write_text(json.dumps(content))


def test_shards_are_the_run_that_one_process_makes(project, shards):
    project.run("--run-name=one", "--repeats=3", model="mock:rate=0.7")
    shards(1)
    shards(2, "-n2")
    shards(3)
    names = [f"{number}-of-3" for number in (1, 2, 3)]
    sizes = [len(project.records(f"r/shards/{name}")) for name in names]
    notes = [project.json(f"shards/{name}/shard.json") for name in names]
    assert [note["counts"] for note in notes] == [sizes] * 3
    assert len({note["selection"] for note in notes}) == 1

    assert main(["results/runs/r"]) == 0
    one, merged = (project.json("results.json", name) for name in ("one", "r"))
    assert without_timing(merged.pop("records")) == without_timing(one.pop("records"))
    assert len(merged.pop("latency")) == len(one.pop("latency"))
    assert merged.pop("run")["name"] == "r"
    one.pop("run")
    assert merged == one
    assert project.file("cells.csv") == project.file("cells.csv", "one")
    parts = project.json("manifest.json")["parts"]
    assert [part["name"] for part in parts] == [f"shards/{name}" for name in names]


def test_the_merged_run_goes_on_like_any_other(project, three, shards):
    main(["results/runs/r"])
    result = project.run("--repeats=4", model="mock:rate=0.7")

    assert "18 of 24 answers" in result.stdout.str()
    assert main(["results/runs/r"]) == 0
    assert len(project.records()) == 24, "what was asked beside the shards stays"


def test_what_a_killed_shard_lacks_is_named_and_a_torn_line_is_passed_over(project, three, shards, capsys):
    path = project.runs / "r/shards/2-of-3/journal.jsonl"
    path.write_bytes(path.read_bytes()[:-300])

    assert main(["results/runs/r"]) == 3
    assert "shards/2-of-3 lacks 1 trial: niah-len" in capsys.readouterr().err
    assert main(["results/runs/r", "--partial", "--gate", "score >= 0.5"]) == 11
    assert "void: interrupted after 17 of 18 trials" in capsys.readouterr().out
    shards(2)
    assert main(["results/runs/r"]) == 0
    assert len(project.records()) == 18


def test_two_answers_to_one_trial_are_listed(project, three, shards, capsys):
    shutil.copytree(project.runs / "r/shards/1-of-3", project.runs / "again")
    journal = project.runs / "again/journal.jsonl"
    first, *others = journal.read_text("utf-8").splitlines(keepends=True)
    changed = json.loads(first) | {"outcome": "found", "score": 1.0, "response": {"text": "something else"}}
    journal.write_text("".join([json.dumps(changed) + "\n", *others]), "utf-8")
    name = changed["id"]
    words = ["results/runs/r", "results/runs/again", "--into", "results/runs/both"]

    assert main(words) == 1
    output = capsys.readouterr().err
    assert f"conflict: {name}: shards/1-of-3: " in output
    assert "again: found 'something else'" in output
    assert "1 trial with two different answers; nothing was written" in output
    assert not (project.runs / "both").exists()
    for keep, text in (("first", 0), ("last", 1)):
        assert main([*words, "--conflicts", keep]) == 0
        record = next(r for r in project.records("both") if r["id"] == name)
        assert (record["response"]["text"] == "something else") == bool(text)


def test_a_shard_of_another_window_is_no_part_and_several_versions_are_told(project, three, capsys):
    with manifest_of(project.runs / "r/shards/1-of-3") as content:
        content["versions"]["needlework"] = "0.0.9"
    assert main(["results/runs/r"]) == 0
    assert "parts were made by several versions of needlework: 0.0.9, 0.1.0" in capsys.readouterr().out
    for shard, window in (("1-of-3", 8192), ("3-of-3", 4096)):
        with manifest_of(project.runs / "r/shards" / shard) as content:
            content["models"]["mock:rate=0.7"]["window"] = window

    assert main(["results/runs/r"]) == 2
    assert "window 8192 / 4096" in capsys.readouterr().err


def test_the_gates_of_the_shards_are_judged_of_the_whole(project, three, capsys):
    for shard in project.runs.glob("r/shards/*"):
        with manifest_of(shard) as content:
            content["options"]["gate"] = ["score >= 0.6"]

    assert main(["results/runs/r"]) == 10
    assert "gate score >= 0.6" in capsys.readouterr().out
    assert main(["results/runs/r", "--gate", "score >= 0.1"]) == 0
    assert main(["results/runs/r", "--gate", "score <= 0.1"]) == 1
    assert main(["results/runs/r", "--gate", "score is good"]) == 2
    assert project.json("results.json")["gates"][0]["verdict"] == "fail"


def test_dividing_anew_counts_what_the_old_shards_have(project, three, shards, capsys):
    for gone in ("2-of-3", "3-of-3"):
        shutil.rmtree(project.runs / "r/shards" / gone)
    shards(1, of=2)
    assert main(["results/runs/r"]) == 3
    assert "2-of-2 is missing (9 trials)" in capsys.readouterr().err
    shards(2, of=2)

    assert main(["results/runs/r"]) == 0
    assert len(project.records()) == 18


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nowhere"], "RUN: 'nowhere': does not exist"),
        (["."], "RUN: '.': has no journal.jsonl and no shards"),
        (["results/runs/r", "--into", "conftest.py"], "--into: 'conftest.py': is no run's folder"),
        (["results/runs/r", "--into", "results/runs/r/shards/1-of-3"], "is no run's folder"),
    ],
)
def test_a_wrong_path_is_one_line(project, three, words, line, capsys):
    assert main(words) == 2
    assert line in capsys.readouterr().err


# -- one shard ----------------------------------------------------------------------------------------------------


def test_what_k_leaves_is_what_is_divided(project):
    plan = project.run("--shard=2/2", "--plan")
    plan.stdout.fnmatch_lines(["in all: 3 trials = 3 requests, *"])
    assert not project.runs.exists()

    project.run("--shard=1/2", "-k", "depth0-")
    assert [record["id"] for record in project.records("r/shards/1-of-2")] == ["niah-len600-depth0-code-r0"]
    assert project.json("shards/1-of-2/shard.json")["counts"] == [1, 1]


@pytest.mark.parametrize("workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)])
def test_a_shard_without_cells_is_done(project, workers):
    result = project.run("--shard=3/3", *workers)

    assert result.ret == 0
    assert not (project.runs / "r/shards/3-of-3/shard.json").exists()


def test_gates_and_errors_wait_for_the_merge(project):
    result = project.run("--shard=1/2", "--gate=score >= 0.9", model="mock:error=timeout")

    assert result.ret == 1, "cells that ended in errors, and no void run"
    result.stdout.fnmatch_lines(["needlework: shard 1 of 2: gates and --max-errors wait for needlework merge, *"])
    assert "gate score" not in result.stdout.str()
    assert project.json("shards/1-of-2/manifest.json")["options"]["gate"] == ["score >= 0.9"]
