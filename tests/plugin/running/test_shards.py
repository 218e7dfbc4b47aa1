"""`--shard I/N`: each shard runs its part into a folder of its own."""

import json

import pytest


def shard_file(project, name, run="r"):
    return json.loads(project.file(f"shards/{name}/shard.json", run))


def ids(project, name):
    return [record["id"] for record in project.records(f"r/shards/{name}")]


def test_shards_together_are_the_run(project):
    project.run("--run-name=whole", "--repeats=2")
    for number in (1, 2, 3):
        assert project.run(f"--shard={number}/3", "--repeats=2").ret == 0
    parts = [ids(project, f"{number}-of-3") for number in (1, 2, 3)]
    told = [shard_file(project, f"{number}-of-3") for number in (1, 2, 3)]

    assert sorted(each for part in parts for each in part) == sorted(
        record["id"] for record in project.records("whole")
    )
    assert [len(part) for part in parts] == told[0]["counts"] == told[1]["counts"] == told[2]["counts"]
    assert len({each["selection"] for each in told}) == 1


def test_what_k_leaves_is_what_is_divided(project):
    project.run("--shard=1/2", "-k", "depth0-")

    assert ids(project, "1-of-2") == ["niah-len600-depth0-code-r0"]
    assert shard_file(project, "1-of-2")["counts"] == [1, 1]


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
    assert json.loads(project.file("shards/1-of-2/manifest.json"))["options"]["gate"] == ["score >= 0.9"]


def test_a_plan_is_of_the_shard_and_writes_nothing(project):
    result = project.run("--shard=2/2", "--plan")

    result.stdout.fnmatch_lines(["in all: 3 trials = 3 requests, *"])
    assert not project.runs.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--shard=0/2",), "--shard: '0/2': write I/N, *"),
        (("--shard=3/2",), "--shard: '3/2': write I/N, *"),
        (("--shard=half",), "--shard: 'half': write I/N, *"),
        (("--shard=1/2", "--shard=2/2"), "--shard: '1/2, 2/2': is given 2 times; give one"),
        (("--shard=1/2", "--gate=score > 0.5", "--top-up=9"), "--top-up: '9': asks for what a whole run *"),
    ],
)
def test_a_wrong_value_is_one_line(project, words, told):
    result = project.run(*words)

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {told}"])
    assert "Traceback" not in result.stderr.str()
