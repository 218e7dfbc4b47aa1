"""A run from Python, its live line, and what is said of answers of the journal."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import needlework
from needlework.core.errors import InputError
from needlework.pytest_plugin.progress import Pace, shortened
from needlework.pytest_plugin.run_command import _words
from needlework.results.gates.gate import Verdict
from needlework.results.run.session import exit_status, left_lines, replayed_lines
from tests.results.new_record import new_record

ROOT = Path(needlework.__path__[0]).parent


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("answer_budget", 32, ["--answer-budget=32"]), ("lengths", [400, "1k"], ["--lengths=400,1k"]),
        ("gate", ["score >= 0.5", "not worse"], ["--gate=score >= 0.5", "--gate=not worse"]),
        ("fresh", True, ["--fresh"]), ("fresh", False, []), ("seed", None, []),
    ],
)  # fmt: skip
def test_keywords_are_options(key, value, words):
    assert list(_words(key, value)) == words


def test_a_misspelt_keyword_names_the_near_one():
    with pytest.raises(InputError, match=r"^option: 'lenghts': did you mean lengths\?"):
        needlework.run(lenghts=[400])


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    return tmp_path


@pytest.mark.slow
def test_the_example_of_the_quickstart(elsewhere, capsys):
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n# notebook.py\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(code[1], names)
    run = names["run"]

    assert run.folder.parent == elsewhere / "results" / "runs"
    assert len(run.records) == run.planned
    assert {panel.overall.mean for panel in run.panels} == {1.0}
    said = capsys.readouterr().out
    assert "needlework: preset quick, model mock:perfect" in said
    assert said.endswith("".join(f"{panel.name} 1.0 {panel.overall.n}\n" for panel in run.panels))


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere")
def test_what_pytest_refuses_is_raised():
    with pytest.raises(RuntimeError, match=r"^ERROR: --lengths: 'x'"):
        needlework.run(model="mock:perfect", lengths="x")


def test_a_plan_is_printed_and_is_no_run(monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    assert needlework.run(plan=True, model="mock:perfect", lengths=[500], depths=[50]) is None
    assert "nothing was run; leave out --plan to run it" in capfd.readouterr().out
    assert not list(tmp_path.rglob("journal.jsonl"))


LINE = "2/4 cells · 30 tok/s · 25 % shared · 1:00 left"


def pace(cells, *answers):
    """The pace of so many cells of 1000 tokens, after answers with these timings."""
    tally = Pace(cells=cells, tokens=1000 * cells)
    for timing in answers:
        add(tally, **timing)
    return tally


def add(tally, **timing):
    tally.add(new_record(prompt={"tokens": 900}, timing=timing))


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


def test_answers_from_the_journal_are_counted():
    assert list(replayed_lines(0, 1, "earlier", 1)) == []
    assert list(replayed_lines(1, 2, "earlier", 2)) == [
        "1 of 2 answers are from this run's journal, written earlier; 1 were asked now"
    ]


def test_records_of_other_options_and_prompts_are_told():
    first, second = new_record(key="a"), new_record(key="b", repeat=1)
    other = new_record(key="a", details={"recipe": "other"})

    def left(earlier, records):
        return [line.partition(": they stay")[0] for line in left_lines("mine", earlier, records, "r")]

    assert left([first], [first, second]) == []
    assert left([other], [first]) == []  # taken over: the same prompt
    assert left([other, other], [new_record(key="b")]) == ["mine also holds 2 records of a run with other options"]
    assert left([first], [new_record(key="b")]) == ["mine also holds 1 answer to other prompts of these cells"]
    assert left([new_record(key="a", outcome="error")], [new_record(key="b")]) == []  # no answer


@pytest.mark.parametrize(
    ("status", "states", "how", "expected"),
    [
        (0, [], {}, 0), (1, [], {}, 1), (2, [], {}, 2), (4, ["fail"], {}, 4),
        (0, ["pass"], {}, 0), (0, ["pass", "inconclusive"], {}, 10), (0, ["inconclusive", "fail"], {}, 1),
        (1, ["inconclusive"], {}, 1), (2, ["pass"], {"early": True}, 11), (2, [], {"early": True}, 2),
        (0, ["pass"], {"void": True}, 11), (0, ["fail"], {"void": True}, 11), (0, ["fail"], {"fault": True}, 4),
    ],
)  # fmt: skip
def test_the_exit_status_is_pytests_unless_a_gate_or_a_lost_result_says_more(status, states, how, expected):
    how = {"fault": False, "early": False, "void": False} | how
    verdicts = [Verdict("score >= 0.5", "all", state) for state in states]
    assert exit_status(status, verdicts=verdicts, **how) == expected
