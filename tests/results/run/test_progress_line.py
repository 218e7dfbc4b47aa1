"""The live line: its text, and that it leaves nothing behind."""

import os
import pty
import re
import subprocess
import sys

import pytest

from needlework.core.record import PromptFacts, Record, Timing
from needlework.pytest_plugin.progress import Pace, shortened

LINE = "2/4 cells · 30 tok/s · 25 % shared · 1:00 left"


def pace(cells, *answers):
    """The pace of so many cells of 1000 tokens, after answers with these timings."""
    tally = Pace(cells=cells, tokens=1000 * cells)
    for timing in answers:
        add(tally, **timing)
    return tally


def add(tally, **timing):
    cell = {"model": "m", "task": "niah", "needle": "code", "length": 1000, "depth": 50.0, "repeat": 0}
    prompt = PromptFacts(tokens=900)
    tally.add(Record(**cell, outcome="found", score=1.0, prompt=prompt, timing=Timing(**timing)))


@pytest.mark.parametrize(
    ("tally", "seconds", "line"),
    [
        (pace(4, {"cached_tokens": 0}, {"cached_tokens": 450}), 60.0, LINE),
        (pace(4, {}), 20.0, "1/4 cells · 45 tok/s · 1:00 left"),
        (pace(3, {"replayed": True}, {}), 10.0, "2/3 cells · 90 tok/s · 0:10 left"),
        (pace(3, {"replayed": True}, {}), 31.0, "2/3 cells · 29 tok/s · 0:31 left"),
        (pace(3), 75.0, "0/3 cells · 1:15 so far"),
    ],
    ids=["speed and sharing", "no sharing", "from the journal", "later", "nothing yet"],
)
def test_speed_sharing_and_the_time_that_is_left(tally, seconds, line):
    assert tally.line(seconds) == line


def test_a_server_that_does_not_answer_has_no_pace_and_no_time_left():
    tally = pace(4, {})
    lines = [tally.line(seconds) for seconds in (20.0, 70.0, 90.0)]
    add(tally)

    assert [line.rpartition(" · ")[2] for line in lines] == ["1:00 left", "3:30 left", "no answer for 1:10"]
    assert tally.line(100.0).endswith("1:40 left")


@pytest.mark.parametrize(
    ("columns", "shown"),
    [(80, LINE), (40, "2/4 cells · 30 tok/s · 1:00 left"), (25, "2/4 cells · 1:00 left"), (10, "")],
)
def test_a_narrow_terminal_keeps_the_most_important_parts(columns, shown):
    assert shortened(LINE, columns) == shown


def run(terminal, folder, model):
    """The output of `pytest` into a terminal or a pipe."""
    read, write = pty.openpty() if terminal else os.pipe()
    words = ["benchmarks", "-p", "no:hypothesispytest", "-p", "no:cacheprovider", "--lengths=400", "--depths=0:100:6"]
    command = [sys.executable, "-m", "pytest", *words, "--concurrency=1", f"--model={model}", f"--results-dir={folder}"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=write, stderr=write, env=environment)
    os.close(write)
    output = b""
    try:
        while part := os.read(read, 65536):
            output += part
    except OSError:  # Linux says so that the other end of a terminal is closed
        pass
    process.wait()
    os.close(read)
    return output.decode()


def test_a_terminal_shows_the_line_and_keeps_nothing_of_it(tmp_path):
    output = run(True, tmp_path, "mock:sleep=0.5")

    drawn = re.findall(r"\x1b7([^\x1b]*)", output)
    assert any(re.fullmatch(r" \d/6 cells · [\d,]+ tok/s · 0:0\d left", line) for line in drawn)
    # Every drawing puts the cursor back, and something is written over it or the line is cleared.
    assert output.count("\x1b7") == output.count("\x1b8")
    assert "cells ·" not in re.sub(r"\x1b7.*?\x1b8", "", output)


def test_a_pipe_gets_no_line(tmp_path):
    output = run(False, tmp_path, "mock:perfect")

    assert "scored" in output
    assert "\x1b7" not in output
