"""What pytest and the harness cost around the cells: whole processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.benchmark(min_rounds=2, max_time=1)


def pytest_run(*args: str) -> str:
    command = [sys.executable, "-m", "pytest", "benchmarks", "-q", "-p", "no:cacheprovider", *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_collecting_10_000_cells(benchmark):
    args = ("--collect-only", "--lengths=1k:100k:100", "--depths=0:100:100")
    out = benchmark.pedantic(pytest_run, args, rounds=2)

    assert "10000 tests collected" in out


def test_1_000_cells_of_a_perfect_mock(benchmark, tmp_path):
    args = ("--lengths=1k", "--depths=0:100:10", "--repeats=100", "--model=mock:perfect", f"--results-dir={tmp_path}")
    out = benchmark.pedantic(pytest_run, args, rounds=1)

    assert "1000 scored" in out
