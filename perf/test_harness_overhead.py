"""Cost of pytest and the harness around cells: CPU seconds of whole processes, as users start them.

AnyIO's plugin is left out too: here it loads what only developers have.
"""

import json
import sys
from pathlib import Path
from statistics import median

import pytest

from needlework.core.files import default_cache_dir
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.specs import resolve_tokenizer
from perf.arms import PYTEST, child_cpu_seconds, cpu_seconds, users_environment

ROOT = Path(__file__).parent.parent
PLAIN = """
import pytest

@pytest.fixture
def generate(request):
    return lambda cell: cell

@pytest.fixture
def assert_scored(request):
    return lambda exchange: exchange

@pytest.mark.parametrize("cell", range({cells}))
def test_needle(cell, generate, assert_scored):
    assert_scored(generate(cell))
"""
SMALL, LARGE = 100, 2100


def pytest_cpu_seconds(*args: str, cwd: Path = ROOT) -> tuple[float, str]:
    return child_cpu_seconds([sys.executable, *PYTEST, "-p", "no:anyio", *args], cwd=cwd, env=users_environment())


def run(folder: Path, cells: int, name: str) -> float:
    """A run of so many cells of 1k tokens on the instant model."""
    taken, out = pytest_cpu_seconds(
        "benchmarks/test_niah.py",
        "--lengths=1k",
        f"--depths=0:100:{min(cells, 100)}",
        f"--repeats={max(1, cells // 100)}",
        "--model=mock:perfect",
        f"--results-dir={folder}",
        f"--run-name={name}",
    )
    assert f"{cells} scored" in out
    return taken


def plain_tests(folder: Path, cells: int) -> float:
    """Time tests of the same form that ask and record nothing: the cost of pytest itself."""
    path = folder / f"test_{cells}.py"
    path.write_text(PLAIN.format(cells=cells), encoding="utf-8")
    return median(pytest_cpu_seconds(path.name, cwd=folder)[0] for _ in range(3))


def test_collecting_10_000_cells(perf_row):
    arguments = ("benchmarks", "--collect-only", "--lengths=1k:100k:100", "--depths=0:100:100")
    runs = [pytest_cpu_seconds(*arguments) for _ in range(3)]
    start = median(
        pytest_cpu_seconds("benchmarks", "--collect-only", "--lengths=1k", "--depths=0")[0] for _ in range(3)
    )

    assert "10000 tests collected" in runs[0][1]
    taken = median(seconds for seconds, _ in runs)
    note = f"whole process; collecting one cell takes {start:.2f} s of it"
    perf_row(what="collection of 10,000 cells", ours=taken, unit="CPU s", target=2, note=note)


def test_harness_around_a_cell(perf_row, tmp_path):
    """The rest of a cell when the model is instant and building its prompt is taken off."""
    seconds = [(run(tmp_path, LARGE, f"l{i}") - run(tmp_path, SMALL, f"s{i}")) / (LARGE - SMALL) for i in range(3)]
    plain = (plain_tests(tmp_path, LARGE) - plain_tests(tmp_path, SMALL)) / (LARGE - SMALL)

    options = {"lengths": "1k", "depths": "0:100:100", "repeats": str(LARGE // 100), "model": ["mock:perfect"]}
    settings = resolve_settings(options, {}, tmp_path)
    tokenizer = resolve_tokenizer("mock:perfect", {}, None, default_cache_dir())
    (series,) = grid(settings)

    def build() -> None:
        builder = TrialBuilder(settings, tokenizer, default_cache_dir())
        for cell in series.cells:
            builder.build(series.suite, cell)

    building = cpu_seconds({"build": build}, rounds=3)["build"] / LARGE
    note = (
        "collecting, asking, scoring, recording, journal, all files of the run; not in it are pytest itself, "
        f"{1000 * plain:.2f} ms (the same test without us), and building the prompt, {1000 * building:.2f} ms at 1k "
        "tokens"
    )
    ours = 1000 * (median(seconds) - building - plain)
    perf_row(what="harness around a cell, beyond pytest's own", ours=ours, unit="CPU ms", target=1, note=note)


def test_resuming_10_000_answered_cells(perf_row, tmp_path):
    first = run(tmp_path, 10_000, "r")
    again = run(tmp_path, 10_000, "r")
    lines = (tmp_path / "r" / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 10_000
    assert json.loads(lines[0])["outcome"] == "found"

    plain = plain_tests(tmp_path, 10_000)
    note = (
        f"all files written anew; the whole process takes {again:.1f} s, pytest {plain:.1f} s for 10,000 empty tests; "
        f"the run itself took {first:.0f} s"
    )
    perf_row(what="resuming 10,000 cells, beyond pytest's own", ours=again - plain, unit="CPU s", target=3, note=note)


@pytest.mark.parametrize("length", ["1k", "128k"])
def test_memory_of_a_run(perf_row, tmp_path, length):
    """Peak memory of 60 cells of 128k tokens beside 60 of 1k: prompts are freed with their cell."""
    # Linux hands `ru_maxrss` on to a new program: that of a large parent would be told.
    script = (
        "import pathlib, re, sys, pytest; code = pytest.main(sys.argv[1:]); "
        "told = pathlib.Path('/proc/self/status').read_text(); "
        "print('peak', int(re.search(r'VmHWM:\\s*(\\d+)', told)[1]) // 1024); sys.exit(code)"
    )
    arguments = ("benchmarks/test_niah.py", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    grid_ = (f"--lengths={length}", "--depths=0:100:60", "--model=mock:perfect", f"--results-dir={tmp_path}")
    _, out = child_cpu_seconds([sys.executable, "-c", script, *arguments, *grid_], cwd=ROOT)
    peak = int(out.rpartition("peak")[2])
    note = "matplotlib and all of pytest included"
    perf_row(what=f"peak memory of 60 cells of {length}", ours=peak, unit="MiB", note=note)
