"""A run that is told to end, or reaches its cap, ends at once, writes the same files, says so, and decides no gate."""

import json
import os
import re
import signal
import threading
import time
from itertools import count
from pathlib import Path

import pytest

from needlework.results.files.read_run import read_run
from tests.loopback import Said, honest, loopback
from tests.plugin.conftest import GRID, output_of, start, wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals")
WORDS = "interrupted after 2 of 6 trials"
HELD_S = 300  # the servers of these tests keep a request waiting for so long, the most that a run accepts
SOON_S = 120.0  # far below that: a busy machine takes long for the report alone
FILES = {"report.html", "results.json", "results.csv", "cells.csv", "journal.jsonl", "manifest.json"}


def started(project, *options):
    """A run of 48 cells."""
    return start(Path(project.pytester.path), *GRID, "--repeats=8", "--run-name=r", *options)


def answers_kept(project):
    """The keys of all answers in the run's folder: those scored, and those that wait for their test."""
    files = (project.runs / "r").glob("*.jsonl")
    return {json.loads(line)["key"] for path in files for line in path.read_text("utf-8").split("\n")[:-1]}


@pytest.fixture
def stopped(project):
    """It stops after two cells."""
    project.test_does(
        "assert_scored(generate(cell))",
        "if (cell.length, cell.depth) == (400, 50):",
        "    request.session.shouldstop = 'that will do'",
        more_fixtures="request",
    )
    return project


def test_every_file_says_so_until_the_same_command_makes_it_whole(stopped):
    result = stopped.run()

    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*{WORDS}*", WORDS])
    results, manifest = stopped.json("results.json"), stopped.json("manifest.json")
    assert (results["planned"], results["recorded"], results["notes"]) == (6, 2, [WORDS])
    assert (manifest["planned"], manifest["recorded"]) == (6, 2)
    assert f"It was {WORDS}" in stopped.file("report.html")
    assert read_run(stopped.runs / "r").report.interrupted == WORDS

    stopped.asks("niah")
    again = stopped.run()
    assert again.ret == 0
    assert "interrupted" not in again.stdout.str()
    assert stopped.json("results.json")["planned"] == 6


def test_ctrl_c_before_the_first_answer_says_how_to_go_on(project):
    project.test_does("raise KeyboardInterrupt")
    result = project.run("-q", process=True)

    assert result.ret == 2
    line = "interrupted after 0 of 6 trials: the same command with --run-name r asks the rest"
    assert line in result.stdout.lines
    project.asks("niah")
    assert project.run().ret == 0
    assert len(project.records()) == 6


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("name", "group"), [("SIGTERM", False), ("SIGTERM", True), ("SIGHUP", True), ("SIGINT", True)])
def test_signals_end_a_run_as_ctrl_c_does(project, name, group, workers):
    """`group`: to the workers too, as Slurm and terminals do."""
    project.test_does("assert_scored(generate(cell))", "time.sleep(0.5)", imports="time")
    process = started(project, "--model=mock:perfect", f"-n{workers}", "--gate=score >= 0.1")
    wait_until(project.journal)
    (os.killpg if group else os.kill)(process.pid, getattr(signal, name))
    output = output_of(process)

    assert process.returncode == 11, output
    assert {path.name for path in (project.runs / "r").iterdir()} >= FILES
    results = project.json("results.json")
    assert results["planned"] == 48
    assert 0 < results["recorded"] < 48
    assert f"interrupted after {results['recorded']} of 48 trials" in output
    assert output.index(" being written") < output.index("interrupted after")
    assert {record["outcome"] for record in results["records"]} == {"found"}


@pytest.mark.slow
def test_answers_that_waited_for_their_test_are_not_asked_for_again(project):
    first, held = threading.Lock(), threading.Event()

    def first_is_held(request):
        if request.is_trial and first.acquire(blocking=False):
            held.wait()
        return honest(request)

    with loopback(first_is_held) as server:
        options = ("--model=openai:gpt-4", f"--base-url={server.url}", "--concurrency=4")
        process = started(project, *options)
        wait_until(lambda: len(answers_kept(project)) == 47)  # all but the one that is held
        process.send_signal(signal.SIGINT)
        output = output_of(process)
        held.set()
        before, there = server.asked.total(), len(answers_kept(project))
        scored = len(project.journal())  # before the one that is held
        again = started(project, *options)
        output_again = output_of(again)

        assert again.returncode == 0, output_again
        assert there == 47
        assert f"{47 - scored} more answers came before the end and are kept" in output
        assert "47 of 48 answers are from this run's journal" in output_again
        assert server.asked.total() == before + 48 - there
    assert not list((project.runs / "r").glob("answers-*"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "workers"), [("SIGTERM", 0), ("SIGINT", 2)])
def test_nothing_is_asked_once_a_run_has_been_told_to_end(project, name, workers):
    """A few more than are in flight wait for a place, which is free when one of those is answered."""
    held, numbers = threading.Event(), count(1)

    def all_but_six_are_held(request):
        if request.is_trial and next(numbers) > 6:
            held.wait()
        return honest(request)

    project.has_hooks(
        """
        import pathlib, time

        def pytest_needlework_report():
            pathlib.Path("writing").touch()
            while not pathlib.Path("go").exists():
                time.sleep(0.02)
        """
    )
    folder = project.pytester.path
    with loopback(all_but_six_are_held) as server:
        options = ("--model=openai:gpt-4", f"--base-url={server.url}", "--concurrency=4", f"-n{workers}")
        process = started(project, *options)
        assert server.wait_for(10, 180)  # six that are answered, and four in flight
        wait_until(project.journal)
        os.killpg(process.pid, getattr(signal, name))
        wait_until((folder / "writing").exists)
        held.set()
        one_more = server.wait_for(11, 1)
        (folder / "go").touch()
        output_of(process)

    assert not one_more


def test_a_signal_while_files_are_written_does_not_stop_that(project):
    project.has_hooks(
        """
        import os, signal, pytest

        @pytest.hookimpl(trylast=True)
        def pytest_needlework_report(config, report, folder):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
        """
    )
    result = project.run()

    assert result.ret == 0
    assert project.json("manifest.json")["recorded"] == 6


# -- waiting for a server ----------------------------------------------------------------------------------------


def refuses(_asked):
    return Said(raw=b'{"error": {"message": "slow down"}}', status=429, headers={"Retry-After": str(HELD_S)})


def hangs(_asked):
    threading.Event().wait(HELD_S)
    return Said("too late")


def after(trials, then):
    """So many trials are answered before."""
    left = [trials]
    lock = threading.Lock()

    def say(request):
        with lock:
            left[0] -= request.is_trial
            answers = left[0] >= 0
        return honest(request) if answers else then(request)

    return say


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    ("then", "answered"),
    [(refuses, None), (refuses, 2), (hangs, 2), (hangs, None)],
    ids=["refuses from the start", "refuses after two", "hangs after two", "hangs from the start"],
)
def test_a_run_that_waits_ends_soon(project, then, answered, name, workers):
    """From the start: before the first trial, whose two short requests have no answer yet."""
    say = then if answered is None else after(answered, then)
    options = ("--concurrency=2", "--run-name=r", f"-n{workers}", "--gate=score >= 0.1", "-v")
    with loopback(say) as server:
        served = ("--tokenizer=tiktoken:cl100k_base", "--model=openai:stub", f"--base-url={server.url}")
        process = start(Path(project.pytester.path), *GRID, *options, *served)
        if answered:  # what came is kept, and one more is asked
            wait_until(lambda: len(answers_kept(project)) == answered and server.asked.total() > answered)
        wait_until(lambda: server.requests)
        time.sleep(1)  # by now it waits on most machines; it ends as soon where it does not yet
        begun = time.monotonic()
        (os.killpg if name == "SIGINT" else os.kill)(process.pid, getattr(signal, name))
        output = output_of(process)
        took = time.monotonic() - begun

    scored = re.search(r"interrupted after (\d) of 6 trials", output)
    stored = re.search(r"(\d) more answers? came", output)
    assert scored is not None, output
    # Of two in flight any comes first.
    assert int(scored[1]) + (int(stored[1]) if stored else 0) == (answered or 0), output
    assert took < SOON_S, output
    assert "Traceback" not in output
    if int(scored[1]):
        assert process.returncode == 11
        assert {record["outcome"] for record in project.records()} == {"found"}


@pytest.mark.parametrize("workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)])
def test_a_run_ends_at_its_cap_and_goes_on_with_more(project, workers):
    project.asks("niah")
    ended = project.run("--max-cost=1", "--price=1000,1", *workers)

    assert ended.ret == pytest.ExitCode.INTERRUPTED
    ended.stdout.fnmatch_lines(
        ["*ends at 1 dollars, all sessions*", "*--max-cost 1 is reached (1.* dollars): with more*"]
    )
    before = len(read_run(project.runs / "r").records)
    assert before < 6
    refused = project.run("--max-cost=1", "--price=1000,1")
    refused.stderr.fnmatch_lines(["*--max-cost: '1': this run has spent 1.* dollars already: give more*"])
    whole = project.run("--max-tokens=2900", "--price=1000,1")  # 2,760 of all; those of stored answers count once

    assert whole.ret == 0
    whole.stdout.fnmatch_lines(["*mock:perfect: * dollars for * prompt tokens*"])
    assert sum(record.timing.replayed for record in read_run(project.runs / "r").records) == before
