"""`needlework batch-in`: the command that wrote the requests, started again with the answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from needlework.launching.batch_in import command_of, main, without_said_anew
from tests.batch_runner import run_batch
from tests.loopback import loopback
from tests.plugin.conftest import Project, project  # noqa: F401 - a fixture


def manifest(at: Path, **content: object) -> Path:
    (at / "manifest.json").write_text(json.dumps({"options": {"batch_out": "q.jsonl"}} | content))
    return at


def test_options_that_are_said_anew_are_left_out() -> None:
    words = [
        "benchmarks",
        "--batch-out",
        "q.jsonl",
        "--run-name=a",
        "--fresh",
        "-k",
        "niah",
        "--results-dir",
        "x",
        "-q",
    ]
    assert list(without_said_anew(words)) == ["benchmarks", "-k", "niah", "-q"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({}, "no command line"),
        ({"options": {"batch_out": None, "batch_in": []}}, "is no run that --batch-out wrote requests of"),
        ({"command": ["pytest"], "folder": "/not/there"}, "which is not there"),
        ({"command": ["pytest", "--model-arg", "proxy_password=..."], "folder": "."}, "hidden value"),
    ],
)
def test_a_run_that_cannot_be_started_again_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: dict[str, object], why: str
) -> None:
    (tmp_path / "a.jsonl").write_text("{}")
    assert main([str(manifest(tmp_path, **content)), str(tmp_path / "a.jsonl")]) == 2
    assert why in capsys.readouterr().err


def test_no_folder_of_a_run_and_no_file_of_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), str(tmp_path / "a.jsonl")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    (tmp_path / "a.jsonl").write_text("{}")
    assert main([str(tmp_path), str(tmp_path / "a.jsonl")]) == 2
    assert "is no folder of a run" in capsys.readouterr().err


def test_the_command_is_the_one_that_wrote_the_requests(tmp_path: Path) -> None:
    run = manifest(
        tmp_path, command=["pytest", "benchmarks", "--batch-out", "q", "--gate", "a >= 1"], folder=str(tmp_path)
    )
    assert command_of(run) == (["benchmarks", "--gate", "a >= 1"], tmp_path)


@pytest.mark.slow
def test_gates_are_judged_and_give_the_exit_code(project: Project) -> None:  # noqa: F811
    gate = ("--gate=score >= 0.4", "--template=raw", "--batch-out=q.jsonl")
    project.run(*gate, model="openai:gpt-4", process=True)
    with loopback() as server:
        run_batch(Path("q.jsonl"), server.url, Path("o.jsonl"), Path("e.jsonl"))
    lines = Path("o.jsonl").read_text().splitlines()
    Path("part.jsonl").write_text("\n".join(lines[:-2]) + "\n")
    assert main([str(project.runs / "r"), "part.jsonl"]) == 11  # the gate is void
    assert main([str(project.runs / "r"), "o.jsonl", "e.jsonl"]) == 0
    assert [record["outcome"] for record in project.records()] == ["found"] * 6


@pytest.mark.slow
def test_answers_that_are_missing_are_counted_and_end_with_a_code_of_their_own(
    project: Project,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    project.run("--template=raw", "--batch-out=q.jsonl", model="openai:gpt-4", process=True)
    with loopback() as server:
        run_batch(Path("q.jsonl"), server.url, Path("o.jsonl"), Path("e.jsonl"))
    lines = Path("o.jsonl").read_text().splitlines()
    Path("part.jsonl").write_text("\n".join(lines[:-2]) + "\n")
    assert main([str(project.runs / "r"), "part.jsonl"]) == 3
    assert "2 trials have no answer yet" in capsys.readouterr().out
