"""A run from Python, its live line, its times, and what is said of answers of the journal."""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

import needlework
from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.models.model import Response
from needlework.pipeline.exchange import Exchange
from needlework.pytest_plugin.latency import benchmark_asked, latency_groups
from needlework.pytest_plugin.progress import Pace
from needlework.results.gates.gate import Verdict
from needlework.results.run.finish import sending_notes
from needlework.results.run.record_builder import answer_recall, make_record
from needlework.results.run.session import SessionPace, exit_status, left_lines, pace_of
from needlework.results.style import duration
from needlework.scoring.recording import ScoringResult
from tests.results.builders import new_record

ROOT = Path(needlework.__path__[0]).parent


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
    given = {"fresh": False, "seed": None, "gate": ["score >= 0.5", "score <= 0.99"]}
    assert needlework.run(plan=True, model="mock:perfect", lengths=[500, "1k"], depths=[50], **given) is None
    assert "nothing was run; leave out --plan to run it" in capfd.readouterr().out
    assert not list(tmp_path.rglob("journal.jsonl"))


LINE = "2/4 cells · 30 tok/s · 25 % shared · 1:00 left"


def pace(cells, *answers):
    """The pace of so many cells of 1000 tokens, after answers with these timings."""
    tally = Pace(cells=cells, tokens=1000 * cells)
    for timing in answers:
        tally.add(new_record(prompt={"tokens": 900}, timing=timing))
    return tally


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


def test_a_terminal_shows_the_line_and_keeps_nothing_of_it(tmp_path):
    read, write = pty.openpty()
    words = ["benchmarks", "-p", "no:hypothesispytest", "-p", "no:cacheprovider", "--lengths=400", "--depths=0:100:6"]
    options = ["--concurrency=1", "--model=mock:sleep=0.5", f"--results-dir={tmp_path}"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    command = [sys.executable, "-m", "pytest", *words, *options]
    process = subprocess.Popen(command, stdout=write, stderr=write, env=environment)
    os.close(write)
    written = b""
    with suppress(OSError):  # Linux says so that the other end of a terminal is closed
        while part := os.read(read, 65536):
            written += part
    process.wait()
    os.close(read)
    output = written.decode()

    drawn = re.findall(r"\x1b7([^\x1b]*)", output)
    assert any(re.fullmatch(r" \d/6 cells · [\d,]+ tok/s · 0:0\d left", line) for line in drawn)
    # Every drawing puts the cursor back, and something is written over it or the line is cleared.
    assert output.count("\x1b7") == output.count("\x1b8")
    assert "cells ·" not in re.sub(r"\x1b7.*?\x1b8", "", output)


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


DOCUMENT = "The ferry ran on Thursdays only. The pear tree stood behind the mill."


@pytest.mark.parametrize(
    ("completion_tokens", "ttft_s", "tokens_per_s"),
    [(11, 0.5, 10.0), (2, 1.0, 2.0), (1, 0.5, None), (None, 0.5, None), (11, None, None), (11, 1.5, None)],
)
def test_the_speed_is_that_of_the_tokens_after_the_first(completion_tokens, ttft_s, tokens_per_s):
    response = Response("x", completion_tokens=completion_tokens, ttft_s=ttft_s, latency_s=1.5)
    exchange = Exchange(Cell("niah", 400, 50.0, "code", 0), SimpleNamespace(language="en"), "m", "k", response)
    record = make_record(exchange, ScoringResult(None), nodeid="", worker="main", recipe="r")

    assert record.timing.tokens_per_s == tokens_per_s


@pytest.mark.parametrize(
    ("answer", "context", "recall"),
    [
        ("The ferry ran on Thursdays.", "The ferry ran on Thursdays only.", 1.0),
        ("The ferry ran on Thursdays.", "The ferry was late.", 0.3333),
        ("The ferry ran on Thursdays.", "Nothing.", 0.0),
        ("The ferry, said Hale", "The ferry.", 1.0),  # the documents do not have Hale either
        ("Nobody knows", DOCUMENT, None),
        ("", DOCUMENT, None),
        ("渡船只在星期四开", "渡船只在星期四开。", 1.0),
    ],
)
def test_retrieved_words_are_those_of_the_answer_that_the_documents_have(answer, context, recall):
    assert answer_recall(answer, [DOCUMENT, "渡船只在星期四开。"], context) == recall


def record(tokens=1000, outcome="found", **timing):
    return new_record(outcome=outcome, prompt={"tokens": tokens}, timing=timing)


def test_the_pace_is_that_of_the_answers_of_this_session():
    assert pace_of([record(), record(3000), record(replayed=True), record(outcome="error")], 2.0) == SessionPace(
        2, 4000, 2.0
    )
    assert pace_of([record(replayed=True)], 2.0) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.234, "0.23 s"), (4, "4 s"), (59, "59 s"), (90, "2 min"), (3601, "1 h 0 min"), (12_000, "3 h 20 min")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("model", "concurrency", "note"),
    [("openai:m", 8, "up to 8 requests at once"), ("smollm2", 8, "a time is one prompt's share"),
     ("openai:m", 1, ""), ("mock:perfect", 8, "")],
)  # fmt: skip
def test_a_note_says_what_a_time_has_in_it(model, concurrency, note):
    settings = resolve_settings({"model": [model], "concurrency": str(concurrency)}, {}, Path())
    notes = list(sending_notes(settings))

    assert note in notes[0] if note else notes == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_benchmark_json_has_one_entry_for_each_group(tmp_path, workers):
    words = ["benchmarks", f"-n{workers}", "-p", "no:cacheprovider", "--lengths=400,600", "--depths=0,50"]
    options = ["--model=mock:sleep=0.01", f"--results-dir={tmp_path}", f"--benchmark-json={tmp_path}/b.json"]
    subprocess.run([sys.executable, "-m", "pytest", *words, *options], check=True, cwd=ROOT)
    first, second, *_first_tokens = json.loads((tmp_path / "b.json").read_text())["benchmarks"]

    assert (first["name"], second["name"]) == ("latency[niah-len400]", "latency[niah-len600]")
    assert len(first["stats"]["data"]) == len(second["stats"]["data"]) == 2
    assert first["stats"]["mean"] >= 0.01
    assert first["params"] == {"model": "mock:sleep=0.01", "task": "niah", "length": 400}


def test_answers_make_groups_of_latency_first_token_and_further_tokens():
    timings = [("found", 2.0), ("found", 1.0), ("error", 60.0), ("skipped", None), ("censored", None), ("found", 0.0)]
    records = [
        new_record(repeat=9 - i, outcome=name, timing={"latency_s": s, "cached_tokens": 7 * i})
        for i, (name, s) in enumerate(timings)
    ]
    (group,) = latency_groups(records)
    streamed = new_record(timing={"latency_s": 2.0, "ttft_s": 0.5, "tokens_per_s": 50.0})

    assert (group.name, group.seconds) == ("latency[niah-len1000]", (1.0, 2.0))
    assert group.params == {"model": "mock", "task": "niah", "length": 1000}
    assert group.extra_info == {"model": "mock", "cached_prompt_tokens": 7}
    assert {each.group: each.seconds for each in latency_groups([streamed])} == {
        "latency": (2.0,), "first token": (0.5,), "time per token": (0.02,),
    }  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--benchmark-skip",), ("--benchmark-disable",)])
def test_what_switches_measuring_off_does(pytester, options):
    assert not benchmark_asked(pytester.parseconfigure(*options))
