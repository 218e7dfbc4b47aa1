"""The live line: what it says, and that it leaves nothing behind."""

import os
import pty
import re
import subprocess
import sys

import pytest

from needlework.core.record import PromptFacts, Record, Timing
from needlework.pytest_plugin.progress import ArrivalCount, shortened
from needlework.results.records.journal import ArrivingAnswers, line_of
from tests.results.changed import changed


def record(length=1000, tokens=900, cached=0, replayed=False, key=""):
    timing = Timing(cached_tokens=cached, replayed=replayed)
    return Record(
        key=key, model="m", task="niah", needle="code", length=length, depth=50.0, repeat=0, outcome="found", score=1.0,
        prompt=PromptFacts(tokens=tokens), timing=timing,
    )  # fmt: skip


def test_speed_sharing_and_the_time_that_is_left():
    tally = ArrivalCount(cells=4, tokens=4000)
    tally.add(record())
    tally.add(record(cached=450))

    assert tally.line(60.0) == "2/4 cells · 30 tok/s · 25 % shared · 1:00 left"


def answer(key, tokens=900):
    return changed(record(key=key, tokens=tokens), outcome="unscored", score=None)


def test_answers_count_when_they_come_and_once():
    """Cells are asked ahead of their tests: the first may be the last to be answered."""
    tally = ArrivalCount(cells=4, tokens=4000)
    for key in "bcb":
        tally.answered(answer(key))
    assert tally.line(60.0).startswith("2/4 cells · 30 tok/s")
    for key in "abc":
        tally.add(record(key=key))
    assert tally.line(90.0) == "3/4 cells · 30 tok/s · 0:30 left"


def test_an_answer_that_is_read_after_its_test_is_counted_once():
    """A log looks for answers every half minute: by then the tests of many have ended."""
    tally = ArrivalCount(cells=4, tokens=4000)
    for key in "ab":
        tally.add(record(key=key))
    for key in "abc":
        tally.answered(answer(key))
    assert tally.line(60.0).startswith("3/4 cells · 45 tok/s")
    tally.add(record(key="c"))
    assert tally.line(60.0).startswith("3/4 cells · 45 tok/s")


def test_a_server_that_does_not_answer_has_no_pace_and_no_time_left():
    tally = ArrivalCount(cells=4, tokens=4000)
    tally.add(record(key="a"))
    assert tally.line(20.0).endswith("1:00 left")
    assert tally.line(70.0).endswith("3:30 left")  # one may take longer than another
    assert tally.line(90.0) == "1/4 cells · no answer for 1:10"
    tally.add(record(key="b"))
    assert tally.line(100.0).endswith("1:40 left")


def test_one_cell_that_holds_up_others_is_told_and_no_time_left_once_nothing_else_comes():
    """Of its time nobody knows; as long as others are answered, theirs is known."""
    tally = ArrivalCount(cells=4, tokens=4000)
    tally.begin("a", 1.0)
    tally.answered(answer("b"))
    assert tally.line(10.0) == "1/4 cells · 90 tok/s · 0:34 left"
    tally.answered(answer("c"))
    assert tally.line(12.0) == "2/4 cells · 150 tok/s · waiting 0:11 for one cell · 0:15 left"
    assert tally.line(23.0) == "2/4 cells · 78 tok/s · waiting 0:22 for one cell"
    tally.end("a")
    tally.add(record(key="a"))
    tally.begin("b", 24.0)
    assert tally.line(25.0) == "3/4 cells · 108 tok/s · 0:11 left"


def test_slow_answers_are_not_told_as_one_that_holds_up_others():
    tally = ArrivalCount(cells=4, tokens=4000)
    tally.begin("a", 0.0)
    tally.answered(changed(answer("b"), timing={"latency_s": 8.0}))
    assert tally.line(20.0).endswith(" left")
    assert "waiting 0:25 for one cell" in tally.line(25.0)


def test_arriving_answers_are_those_after_the_beginning_each_once(tmp_path):
    def line(key):
        return line_of(answer(key)) + "\n"

    (tmp_path / "answers-1.jsonl").write_text(line("of an earlier run"))
    arriving = ArrivingAnswers(tmp_path)
    (tmp_path / "answers-2.jsonl").write_text(line("a") + line("b")[:20])
    assert [each.key for each in arriving.new()] == ["a"]
    with (tmp_path / "answers-2.jsonl").open("a") as file:
        file.write(line("b")[20:])
    assert [each.key for each in arriving.new()] == ["b"]
    assert not list(arriving.new())


def test_cells_from_the_journal_cost_no_time():
    tally = ArrivalCount(cells=3, tokens=3000)
    tally.add(record(replayed=True))
    tally.add(record())

    assert tally.line(10.0) == "2/3 cells · 90 tok/s · 0:10 left"


def test_before_the_first_cell_only_time_is_known():
    assert ArrivalCount(cells=3, tokens=3000).line(75.0) == "0/3 cells · 1:15 so far"


def test_hours_are_written_as_hours():
    tally = ArrivalCount(cells=100, tokens=100_000)
    tally.add(record())

    assert tally.line(100.0).endswith("2:45:00 left")


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


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n2", "-n0"])
def test_a_log_has_lines_with_what_is_answered_and_the_time_left(pytester, workers):
    """The first cell's answer comes last, so pytest's own letters would show nothing until then."""
    pytester.makeconftest(
        """
        import needlework.pytest_plugin.progress as live

        pytest_plugins = ("needlework.plugin",)
        live.LogLines.every_s = 0.5
        """
    )
    result = pytester.runpytest_subprocess(
        "--pyargs", "needlework.benchmarks", *GRID, "--model=mock:sleep=1", workers, "-pno:hypothesispytest"
    )
    result.stdout.re_match_lines([r"\d/6 cells \| [\d,]+ tok/s \| 0:0\d left"])


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


@pytest.mark.slow
def test_tests_that_are_only_named_like_cells_get_no_line(pytester):
    pytester.makeconftest(
        """
        import needlework.pytest_plugin.progress as live

        pytest_plugins = ("needlework.plugin",)
        live.LogLines.every_s = live._QUIET_S = 0.2
        """
    )
    pytester.makepyfile(
        """
        import time, pytest

        @pytest.mark.parametrize("name", ["niah-len500-depth50-code-r0"])
        def test_a_name(name):
            time.sleep(1)
        """
    )
    result = pytester.runpytest_subprocess("-pno:hypothesispytest")
    result.assert_outcomes(passed=1)
    assert "0/1 cells" not in result.stdout.str()
