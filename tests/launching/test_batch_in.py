"""`needlework batch-in`: the settings of the run that wrote the requests, run with the answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from needlework.pytest_plugin.batch_in import main
from tests.batch_runner import run_batch
from tests.loopback import loopback
from tests.plugin.conftest import Project, project  # noqa: F401 - a fixture

PACKAGED = ("--pyargs", "needlework.benchmarks", "--task=niah", "--template=raw")


def test_no_folder_of_a_run_and_no_file_of_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), str(tmp_path / "a.jsonl")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    (tmp_path / "a.jsonl").write_text("{}")
    assert main([str(tmp_path), str(tmp_path / "a.jsonl")]) == 2
    assert "is no folder of a run" in capsys.readouterr().err


def written(project: Project, *words: str) -> Path:  # noqa: F811
    """A run that has written its requests, and the answers of a batch service in o.jsonl."""
    project.run(*PACKAGED, "--batch-out=q.jsonl", *words, model="openai:gpt-4", process=True)
    with loopback() as server:
        run_batch(Path("q.jsonl"), server.url, Path("o.jsonl"), Path("e.jsonl"))
    return project.runs / "r"


def change_options(run: Path, **options: object) -> None:
    path = run / "manifest.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"options": content["options"] | options}))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"batch_out": None}, "is no run that --batch-out wrote requests of"),
        ({"model_arg": ["extra_body=..."]}, "is not stored with its value"),
        ({"judge": ["openai:judge"]}, "name it again, with the address that may have the answers: --judge SPEC"),
        ({"too_long_pattern": "("}, "is no regular expression"),
        (
            {"gate": ["score >= 0"], "baseline": "/etc"},
            "lies outside the run's folder: if it is yours, give --read /etc",
        ),
        ({"tokenizer": "hf:somebody/something"}, "give --read hf:somebody/something"),
    ],
)
@pytest.mark.slow
def test_a_manifest_that_is_not_obeyed_is_one_line(
    project: Project,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    options: dict[str, object],
    why: str,
) -> None:
    run = written(project)
    change_options(run, **options)
    assert main([str(run), "o.jsonl"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line


@pytest.mark.slow
def test_a_judge_that_is_named_again_is_asked(project: Project) -> None:  # noqa: F811
    run = written(project, "--judge=mock:judge", "--judge-strategy=llm")
    assert main([str(run), "o.jsonl", "--judge=mock:judge"]) == 0
    assert {record["details"]["score"]["asked"] for record in project.records()} == {1}


@pytest.mark.slow
def test_the_cells_that_the_command_selected_are_all_there_are(
    project: Project,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = written(project, "-k", "len400")
    assert main([str(run), "o.jsonl"]) == 0
    assert {record["length"] for record in project.records()} == {400}
    assert "no answer yet" not in capsys.readouterr().out


@pytest.mark.slow
def test_tests_of_the_users_own_are_not_run_again(
    project: Project,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    project.run("--template=raw", "--batch-out=q.jsonl", model="openai:gpt-4", process=True)
    Path("o.jsonl").write_text("{}")
    assert main([str(project.runs / "r"), "o.jsonl"]) == 2
    assert "give the pytest command again, with --batch-in in place of --batch-out" in capsys.readouterr().err


@pytest.mark.slow
def test_gates_are_judged_and_give_the_exit_code(project: Project) -> None:  # noqa: F811
    written(project, "--gate=score >= 0.4")
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
    written(project)
    lines = Path("o.jsonl").read_text().splitlines()
    Path("part.jsonl").write_text("\n".join(lines[:-2]) + "\n")
    assert main([str(project.runs / "r"), "part.jsonl"]) == 3
    assert "2 trials have no answer yet" in capsys.readouterr().out


@pytest.mark.slow
def test_answers_of_a_run_on_files_that_are_named_are_known_to_its_command(project: Project) -> None:  # noqa: F811
    Path("docs").mkdir()
    Path("docs", "a.txt").write_text(" ".join(f"Zebra {n} rested by the quiet harbour." for n in range(3000)))
    words = ("--corpus=docs", "--base-url=http://127.0.0.1:9/v1")
    run = written(project, *words)
    assert main([str(run), "o.jsonl"]) == 2
    assert main([str(run), "o.jsonl", "--read", "docs"]) == 0
    again = project.run(*PACKAGED, "--batch-out=more.jsonl", *words, model="openai:gpt-4", process=True)
    again.stdout.fnmatch_lines(["batch-out: nothing is written: every cell has its answer*"])
