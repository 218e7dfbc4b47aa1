"""A leaderboard of 100 runs of 1,001 trials, whose records are all read."""

import time

import pytest
from msgspec import structs

from needlework.results.compare.collect import collect_models
from needlework.results.files.json_files import write_json
from needlework.results.statistics.leaderboard import boards_of
from needlework.results.statistics.run_report import run_report
from perf.test_writing_reports import records

RUNS = 100
pytestmark = pytest.mark.benchmark(timer=time.perf_counter, min_rounds=1, max_time=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("runs")
    for number in range(RUNS):
        run = base / f"run{number:03}"
        run.mkdir()
        made = [structs.replace(record, model=f"model{number % 40}") for record in records(7, 11, 13, seed=number)]
        write_json(run / "results.json", run_report(made))
        (run / "manifest.json").write_text('{"started": "2026-01-01T00:00:00+00:00"}')
    return base


def test_board_of_many_runs(benchmark, folder, perf_row):
    def boards():
        return boards_of(collect_models([folder], folder, every_run=True)[0])

    (board,) = benchmark.pedantic(boards, rounds=1)
    assert len(board.rows) == RUNS
    perf_row(what=f"leaderboard of {RUNS:,} runs of 1,001 trials", ours=benchmark.stats.stats.min, unit="s", target=20)
