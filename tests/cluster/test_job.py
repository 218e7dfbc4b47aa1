"""The process that runs one shard: stops in order, writes its ending."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from needlework.cluster import job
from needlework.cluster.job import STOPPED
from needlework.cluster.plan import Ending, read_ending

pytestmark = pytest.mark.slow
WAIT = "print('up', flush=True); time.sleep(60)"
# As pytest does it: at Ctrl-C it writes its files, and ends with 2.
WITH_FILES = f"""
try:
    {WAIT}
except KeyboardInterrupt:
    (run / 'shards/1-of-2').mkdir(parents=True)
    (run / 'shards/1-of-2/journal.jsonl').write_text('{{}}')
    return 2
"""


@pytest.fixture
def start(tmp_path):
    """Starts a shard of the run `folder` with a function in place of `pytest.main`, which has `run`: that folder."""
    folder, running = tmp_path / "run", []

    def started(code):
        head = f"import os, signal, time\nfrom pathlib import Path\nrun = Path({str(folder)!r})\ndef main(words):\n"
        (tmp_path / "pytest.py").write_text(head + textwrap.indent(code, "    "))
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        words = ["--folder", str(folder), "--shard", "1/2", "--", "--model", "m"]
        command = [sys.executable, "-m", job.__name__, *words]
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        return running[-1]

    started.ending = lambda: read_ending(folder / "launch", "1-of-2")
    yield started
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("code", "ended", "ending"),
    [
        ("return 1", 0, Ending(1)),  # some cells ended in errors, the shard is done
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, None),  # its engine starts it again
        ("return 3", 3, None),  # an internal error: the same
        ("return 2", 2, Ending(2)),
        ("return 4", 4, Ending(4)),
        ("return 5", 5, Ending(5)),
    ],
    ids=["errors", "killed", "internal error", "interrupted", "wrong option", "nothing selected"],
)
def test_how_pytest_ended_is_written_unless_it_died(start, code, ended, ending):
    assert start(code).wait(30) == ended
    assert start.ending() == ending


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_stops_it_and_it_leaves_no_ending(start, number):
    process = start(WITH_FILES)
    while process.stdout.readline() != "up\n":
        pass
    process.send_signal(number)

    assert process.wait(30) == STOPPED
    assert "stopped (SIG" in process.stdout.read()
    assert start.ending() is None


def test_a_time_limit_that_is_too_short_for_one_cell_is_told(start):
    process = start(WAIT)
    while process.stdout.readline() != "up\n":
        pass
    process.send_signal(signal.SIGUSR1)

    assert process.wait(30) == 2
    assert "give it more --time" in start.ending().why


def test_it_stops_when_its_parent_is_gone(monkeypatch):
    parents, signals = iter([7, 7, 1]), []
    monkeypatch.setattr(job, "_POLL_S", 0.0)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "kill", lambda _pid, number: signals.append(number))
    job._stop_without_parent(7)

    assert signals == [signal.SIGTERM]
