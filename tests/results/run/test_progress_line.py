"""The live line: what it says, and that it leaves nothing behind."""

import os
import pty
import re
import subprocess
import sys

import pytest

from needlework.core.record import PromptFacts, Record, Timing
from needlework.pytest_plugin.progress import Pace, shortened


def record(length=1000, tokens=900, cached=0, replayed=False):
    timing = Timing(cached_tokens=cached, replayed=replayed)
    return Record(
        model="m", task="niah", needle="code", length=length, depth=50.0, repeat=0, outcome="found", score=1.0,
        prompt=PromptFacts(tokens=tokens), timing=timing,
    )  # fmt: skip


def test_speed_sharing_and_the_time_that_is_left():
    tally = Pace(cells=4, tokens=4000)
    tally.add(record())
    tally.add(record(cached=450))

    assert tally.line(60.0) == "2/4 cells · 30 tok/s · 25 % shared · 1:00 left"


def test_a_server_that_does_not_answer_has_no_pace_and_no_time_left():
    tally = Pace(cells=4, tokens=4000)
    tally.add(record())
    assert tally.line(20.0).endswith("1:00 left")
    assert tally.line(70.0).endswith("3:30 left")  # one may take longer than another
    assert tally.line(90.0) == "1/4 cells · no answer for 1:10"
    tally.add(record())
    assert tally.line(100.0).endswith("1:40 left")


def test_cells_from_the_journal_cost_no_time():
    tally = Pace(cells=3, tokens=3000)
    tally.add(record(replayed=True))
    tally.add(record())

    assert tally.line(10.0) == "2/3 cells · 90 tok/s · 0:10 left"
    assert tally.line(31.0).endswith("0:31 left")
    assert Pace(cells=3, tokens=3000).line(75.0) == "0/3 cells · 1:15 so far"


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (80, "2/4 cells · 30 tok/s · 25 % shared · 1:00 left"),
        (40, "2/4 cells · 30 tok/s · 1:00 left"),
        (25, "2/4 cells · 1:00 left"),
        (10, ""),
    ],
)
def test_a_narrow_terminal_keeps_what_matters_most(columns, shown):
    assert shortened("2/4 cells · 30 tok/s · 25 % shared · 1:00 left", columns) == shown


def run_in_terminal(*args: str) -> str:
    """What `pytest` writes when a terminal is its output."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "benchmarks", "-p", "no:hypothesispytest", "-p", "no:cacheprovider", *args],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so that the other end is closed
            break
        written += part
    process.wait()
    os.close(ours)
    return written.decode()


GRID = ("--lengths=400", "--depths=0:100:6", "--concurrency=1")


def test_a_terminal_shows_the_line_and_keeps_nothing_of_it(tmp_path):
    written = run_in_terminal(*GRID, "--model=mock:sleep=0.5", f"--results-dir={tmp_path}")

    drawn = re.findall(r"\x1b7([^\x1b]*)", written)
    assert any(re.fullmatch(r" \d/6 cells · [\d,]+ tok/s · 0:0\d left", line) for line in drawn)
    # Every drawing puts the cursor back, and something is written over it or the line is cleared.
    assert written.count("\x1b7") == written.count("\x1b8")
    assert "cells ·" not in re.sub(r"\x1b7.*?\x1b8", "", written)


def test_a_pipe_gets_no_line(tmp_path):
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "benchmarks",
            "-p",
            "no:hypothesispytest",
            *GRID,
            "--model=mock:perfect",
            f"--results-dir={tmp_path}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "scored" in result.stdout
    assert "\x1b7" not in result.stdout
