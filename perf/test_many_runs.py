"""1,000 runs of 10,000 trials by their indexes: a leaderboard, the pages; and what it takes to make an index again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zlib
from base64 import b64encode

import numpy as np
import pytest

from needlework.results.compare.board.candidates import candidates_of
from needlework.results.compare.board.collect import collect
from needlework.results.files.index_file import INDEX, read_index, sources_of, write_index
from needlework.results.files.json_file import write_json
from needlework.results.statistics.asked import asked_of
from needlework.results.statistics.board.boards import boards_of
from needlework.results.statistics.run_report import run_report
from perf.test_writing_reports import records

RUNS = 1_000
pytestmark = pytest.mark.benchmark(timer=time.perf_counter, min_rounds=1, max_time=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """1,000 runs of 10,010 trials of 91 samples: the first with all of its records, the others with their index."""
    base, made = tmp_path_factory.mktemp("runs"), records(10, 11, 91)
    whole = base / "run0000"
    write_json(whole / "results.json", run_report(made))
    write_index(whole, asked_of(made), len(made), sources_of(whole))
    content = json.loads((whole / INDEX).read_text())
    (entry,) = content["entries"]
    rng = np.random.default_rng(1)
    for number in range(1, RUNS):
        run = base / f"run{number:04}"
        run.mkdir()
        with (run / "results.json").open("wb") as file:
            file.truncate(20_000_000)  # stands for 20 MB of records: whoever reads them finds no JSON
        scores = (rng.random(len(made)) < 0.5 + 0.5 * rng.random()).astype(np.float32)
        entry |= {"model": f"model{number % 40}", "scores": b64encode(zlib.compress(scores.tobytes())).decode()}
        (run / INDEX).write_text(json.dumps(content | {"sources": sources_of(run)}))
        (run / "manifest.json").write_text('{"started": "2026-01-01T00:00:00+00:00"}')
    return base


def test_boards_of_a_thousand_runs(benchmark, folder, perf_row):
    def boards():
        found = collect([folder])
        assert found.computed == 0
        return boards_of(candidates_of(found.runs, folder, newest=False)[0])

    (board,) = benchmark.pedantic(boards, rounds=1)
    assert len(board.rows) == RUNS
    what = f"leaderboard of {RUNS:,} runs of 10,010 trials, indexes read"
    perf_row(what=what, ours=benchmark.stats.stats.min, unit="s", target=20)


def test_pages_of_a_thousand_runs_are_there_at_once(benchmark, folder, perf_row):
    """The pages read no records before somebody opens a run: the server's start, in CPU seconds of its process."""

    def start():
        before = os.times()
        command = [sys.executable, "-m", "needlework", "serve", str(folder), "--port", "0"]
        environ = {**os.environ, "NEEDLEWORK_TOKEN": "t" * 32}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as server:
            assert server.stdout is not None
            assert "http://127.0.0.1" in server.stdout.readline()
            server.terminate()
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    seconds = benchmark.pedantic(start, rounds=1)
    perf_row(what=f"needlework serve of {RUNS:,} runs of 10,010 trials, start", ours=seconds, unit="CPU s", target=1.5)


def test_an_index_is_made_again(benchmark, folder, perf_row):
    run = folder / "run0000"

    def again():
        (run / INDEX).unlink()
        assert collect([run]).computed == 1

    benchmark.pedantic(again, rounds=2)
    assert read_index(run) is not None
    perf_row(what="index of 10,010 trials, from their results", ours=benchmark.stats.stats.min, unit="s", target=4)
