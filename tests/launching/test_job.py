"""The process that runs one shard: restarts pytest if it dies, stops in order, writes its ending."""

import os
import signal
import subprocess
import sys
import time

import pytest

from needlework.cluster import job
from needlework.cluster.job import STOPPED, StopRequest, run_shard
from needlework.cluster.plan import Ending, read_ending

pytestmark = pytest.mark.slow


@pytest.fixture
def pytest_that(monkeypatch, tmp_path):
    """Runs Python code in place of pytest; `$run` is the folder of the run, `tries` counts."""

    def made(code):
        (tmp_path / "pytest.py").write_text(f"import os, signal, sys, time\nfrom pathlib import Path\n{code}\n")
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        return tmp_path / "run"

    return made


KILL = "os.kill(os.getpid(), signal.SIGKILL)"


def run(folder, stop=None):
    return run_shard(folder, "1/2", ["--model", "m"], stop or StopRequest())


@pytest.mark.parametrize(
    ("end", "code", "ending"),
    [
        ("sys.exit(1)", 0, Ending(1)),  # some cells ended in errors, the shard is done
        (KILL, 1, None),  # its engine starts it again
        ("sys.exit(2)", 2, Ending(2)),
        ("sys.exit(4)", 4, Ending(4)),
        ("sys.exit(5)", 5, Ending(5)),
    ],
    ids=["errors", "killed", "interrupted", "wrong option", "nothing selected"],
)
def test_how_pytest_ended_is_written_unless_it_was_killed(pytest_that, tmp_path, monkeypatch, end, code, ending):
    monkeypatch.chdir(tmp_path)
    folder = pytest_that(end)

    assert run(folder) == code
    assert read_ending(folder / "launch", "1-of-2") == ending


def test_what_pytest_leaves_behind_is_ended(pytest_that, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    child = "import subprocess; c = subprocess.Popen(['sleep', '60']); Path('pid').write_text(str(c.pid))"
    run(pytest_that(child))

    for _ in range(50):
        if not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text()}"):  # noqa: PTH110
            return
        time.sleep(0.1)
    pytest.fail("a process that would hold a card is still there")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_stops_it_and_it_leaves_no_ending(pytest_that, tmp_path, number):
    folder = pytest_that(
        "signal.signal(signal.SIGTERM, lambda *_: (Path(sys.argv[2], 'shards/1-of-2').mkdir(parents=True),"
        " Path(sys.argv[2], 'shards/1-of-2/journal.jsonl').write_text('{}'), sys.exit(2)))\n"
        "print('up', flush=True); time.sleep(60)"
    )
    words = ["--folder", str(folder), "--shard", "1/2", "--", str(folder), str(folder)]
    process = subprocess.Popen([sys.executable, "-m", job.__name__, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while process.stdout.readline() != "up\n":
        pass
    process.send_signal(number)

    assert process.wait(30) == STOPPED
    assert "stopped (SIG" in process.stdout.read()
    assert read_ending(folder / "launch", "1-of-2") is None


def test_a_time_limit_that_is_too_short_for_one_cell_is_told(pytest_that):
    folder, stop = pytest_that("time.sleep(60)"), StopRequest()
    stop.reason = "SIGUSR1"

    assert run(folder, stop=stop) == 1
    assert "give it more --time" in read_ending(folder / "launch", "1-of-2").why


def test_it_stops_when_its_parent_is_gone():
    stop = StopRequest(parent=1 if os.getppid() != 1 else 2)

    assert stop.is_set()
    assert stop.reason == "parent is gone"
