"""`--serve`: one command from a file of weights to a heatmap, on a real server."""

import os
import signal

import psutil
import pytest

from tests.models.engines.test_serving import alive
from tests.plugin.conftest import output_of, start, wait_until

SMALL = ("--lengths=300,400", "--depths=0,100", "--answer-budget=16", "--serve-arg=window=1k", "--serve-arg=threads=1")


@pytest.fixture(autouse=True)
def real_server():
    pytest.importorskip("xllamacpp")


def servers_of(folder):
    """Processes whose command line names this folder's log."""
    processes = psutil.process_iter(["cmdline"])
    return [each for each in processes if f"{folder}/server/log.txt" in " ".join(each.info["cmdline"] or ())]


@pytest.mark.slow
def test_one_command_serves_the_model_to_all_workers_and_ends_it(project):
    done = project.run(*SMALL, "--serve=xllamacpp", "-n2", model="smollm2", process=True)

    assert done.ret == 0
    assert len(project.records()) == 4
    manifest = project.json("manifest.json")
    model = manifest["models"]["openai:smollm2"]
    assert model["server"].startswith("--serve xllamacpp 20")
    assert "--ctx-size 1000" in model["command"]
    assert model["window"] == 1024  # llama.cpp rounds up
    assert project.file("server/log.txt").count("on port") == 1
    assert servers_of(project.runs / "r") == []
    # All is there: no server is started for nothing.
    again = project.run(*SMALL, "--serve=xllamacpp", model="smollm2", process=True)
    assert "none was asked now" in again.stdout.str()
    assert project.file("server/log.txt").count("on port") == 1


@pytest.mark.slow
def test_what_the_engine_refuses_is_told_with_its_last_lines_before_any_cell(project):
    done = project.run(*SMALL, "--serve=xllamacpp", "--serve-arg=kv-dtype=q9", model="smollm2", process=True)

    assert done.ret == 4
    done.stdout.fnmatch_lines(["*xllamacpp: its last lines*", "error: --cache-type-k: there is no type 'q9'*"])
    done.stderr.fnmatch_lines(["ERROR: --serve: 'xllamacpp': the server ended with code 2: error: --cache-type-k*"])


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["the run, by kill -9", "the server"])
def test_nothing_is_left_and_the_run_goes_on_when_something_is_killed(project, ends):
    """The second test waits until a file is gone: so long its cell is still to be asked."""
    project.test_does(
        "while cell.depth and pathlib.Path('held').exists():",
        "    time.sleep(0.05)",
        "assert_scored(generate(cell))",
        imports="pathlib, time",
    )
    held = project.pytester.path / "held"
    held.touch()
    words = (
        *SMALL, "-n0", "--concurrency=1", "--corpus=pydoc", "--model=smollm2", "--serve=xllamacpp", "--run-name=r",
        "--depths=0,50,100",
    )  # fmt: skip
    run, folder = start(project.pytester.path, *words), project.runs / "r"
    wait_until(lambda: any(file.stat().st_size for file in folder.glob("journal.jsonl")), run)
    (keeper,) = servers_of(folder)
    server = keeper.children()[0].pid
    os.kill(run.pid if ends.startswith("the run") else server, signal.SIGKILL)
    held.unlink()
    output = output_of(run)
    wait_until(lambda: not alive(server))

    if ends == "the server":
        assert run.returncode == 2
        assert "the server was ended by signal 9" in output
        assert "its last lines" in output
    again = start(project.pytester.path, *words)
    output = output_of(again)
    assert again.returncode == 0, output[-3000:]
    assert len(project.records()) == 6


def test_a_server_with_the_same_model_gives_the_same_answers_and_counts(project, llama_server):
    grid = ("--lengths=300,400", "--depths=0,25,50,75,100", "--answer-budget=24")
    project.run(*grid, "--run-name=inside", model="smollm2", process=True)
    project.run(
        *grid, "--run-name=served", f"--base-url={llama_server}", "--tokenizer=smollm2", model="openai:smollm2",
        process=True,
    )  # fmt: skip
    inside, served = project.records("inside"), project.records("served")

    assert len(served) == 10
    for record in served:
        assert record["response"]["prompt_tokens"] == record["prompt"]["tokens"]
    assert [r["prompt"]["sha256"] for r in inside] == [r["prompt"]["sha256"] for r in served]
    # Not 10: the server computes with the 4-bit weights as they are, and near-ties may fall the other way.
    assert sum(one["answer"] == other["answer"] for one, other in zip(inside, served, strict=True)) >= 9
