"""`--serve`: one command from a file of weights to a heatmap, on a real server."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from needlework.models.engines.keeper import alive

SMALL = ("--lengths=300,400", "--depths=0,100", "--answer-budget=16", "--serve-arg=window=1k", "--serve-arg=threads=1")


@pytest.fixture(autouse=True)
def real_server():
    pytest.importorskip("xllamacpp")


def servers_of(folder):
    """Processes whose command line names this folder's log."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes()
        except OSError:
            continue
        if f"{folder}/server/log.txt".encode() in words:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.slow
def test_one_command_serves_the_model_to_all_workers_and_ends_it(project):
    done = project.run(*SMALL, "--serve=xllamacpp", "-n2", model="smollm2", process=True)

    assert done.ret == 0
    assert len(project.records()) == 4
    manifest = json.loads(project.file("manifest.json"))
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
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("ends", ["the run, by kill -9", "the server"])
def test_nothing_is_left_and_the_run_goes_on_when_something_is_killed(project, ends):
    grid = (
        "--lengths=300,400",
        "--depths=0,50,100",
        "--serve-arg=window=1k",
        "--serve-arg=threads=1",
        "--answer-budget=16",
    )
    words = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n0", "--corpus=pydoc", "--model=smollm2",
        "--serve=xllamacpp", "--run-name=r", *grid,
    ]  # fmt: skip
    run = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=project.pytester.path
    )
    folder, until = project.runs / "r", time.monotonic() + 120
    while not any(file.stat().st_size for file in folder.glob("answers-*")) and time.monotonic() < until:
        time.sleep(0.1)
    (keeper,) = servers_of(folder)
    server = int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()[0])
    os.kill(run.pid if ends.startswith("the run") else server, signal.SIGKILL)
    said = run.communicate(timeout=120)[0]
    until = time.monotonic() + 20
    while alive(server) and time.monotonic() < until:
        time.sleep(0.1)

    assert not alive(server)
    if ends == "the server":
        assert run.returncode == 2
        assert "the server was ended by signal 9" in said
        assert "its last lines" in said
    again = subprocess.run(words, capture_output=True, text=True, cwd=project.pytester.path, timeout=300)
    assert again.returncode == 0, again.stdout[-3000:]
    assert len(project.records()) == 6
