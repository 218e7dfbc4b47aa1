"""Time of writing the files of a run of 10,000 trials and the page of two such runs, and of opening the page."""

import random
import shutil
import subprocess
import time
from hashlib import sha256

import pytest

from needlework.core.grid import Cell
from needlework.core.record import record_of
from needlework.results.html.comparison import comparison_html
from needlework.results.html.report import html_text
from needlework.results.run.finish import write_files
from needlework.results.statistics.comparison.comparison import compare_runs
from needlework.results.statistics.run_report import run_report

pytestmark = pytest.mark.benchmark(timer=time.process_time, min_rounds=1, max_time=1)


def records(lengths, depths, repeats, seed=0):
    rng = random.Random(seed)
    words = [f"word{i}" for i in range(2_000)]
    made = []
    for length in range(1_000, 1_000 * lengths + 1, 1_000):
        for row in range(depths):
            for repeat in range(repeats):
                depth = 100 * row / max(1, depths - 1)
                cell = Cell("niah", length, depth, "code", repeat)
                digest = sha256(cell.id.encode()).hexdigest()
                score = rng.random() < 0.8
                before, after = (" ".join(rng.choices(words, k=20)) for _ in range(2))
                needle = {"name": "code", "requested": depth, "depth": depth, "tokens_before": 1, "tokens": 9}
                needle |= {"before": before, "text": f"The code of {repeat} is 4711.", "after": after}
                made.append(
                    {
                        "schema": 1, "key": digest, "id": cell.id, "nodeid": f"t[{cell.id}]", "model": "mock",
                        "task": "niah", "needle": "code", "language": "en", "length": length, "depth": depth,
                        "repeat": repeat, "seed": 0, "outcome": "found" if score else "wrong", "score": float(score),
                        "scorer": "match", "scorer_version": 1, "why": "no accepted value", "question": "What is it?",
                        "expected": ["4711"], "reference": {"answers": ["4711"]}, "answer": str(rng.random()),
                        "prompt": {"tokens": length, "sha256": digest, "filler_sha256": digest, "needles": [needle]},
                        "response": {"text": f"It is {rng.random()}.", "finish_reason": "stop"},
                        "details": {"flags": [], "recipe": "r"}, "error": None, "timing": {"latency_s": rng.random()},
                    }
                )  # fmt: skip
    return [record_of(fields) for fields in made]


@pytest.mark.parametrize("shape", [(100, 100, 1), (35, 35, 8), (10, 11, 91)], ids="{}".format)
def test_files_of_a_run(benchmark, tmp_path, shape, perf_row):
    made = records(*shape)
    paths = benchmark.pedantic(lambda: write_files(tmp_path, run_report(made), numbers=True), rounds=1)

    assert (tmp_path / "report.html").stat().st_size < 3_000_000
    assert all(path.is_file() for path in paths)
    what = f"all files of {len(made):,} trials, {shape[0]} x {shape[1]} cells"
    perf_row(what=what, ours=benchmark.stats.stats.min, unit="CPU s", target=15)


def test_page_of_two_runs(benchmark, perf_row):
    first, second = records(100, 100, 1), records(100, 100, 1, seed=1)

    def page():
        return comparison_html(compare_runs({"a": first, "b": second}), title="B - A")

    assert len(benchmark.pedantic(page, rounds=1).encode()) < 3_000_000
    perf_row(what="page of two runs of 10,000 trials", ours=benchmark.stats.stats.min, unit="CPU s", target=15)


def test_opening_a_page(tmp_path, perf_row):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium (apt-get install chromium)")
    page, empty = tmp_path / "page.html", tmp_path / "empty.html"
    page.write_text(html_text(run_report(records(100, 100, 1))), encoding="utf-8")
    empty.write_text("<!doctype html><title>empty</title>", encoding="utf-8")

    def seconds(path):
        flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}")
        start = time.perf_counter()
        subprocess.run([chromium, *flags, "--dump-dom", path.as_uri()], check=True, capture_output=True, timeout=120)
        return time.perf_counter() - start

    bare, whole = (min(seconds(path) for _ in range(3)) for path in (empty, page))
    note = f"beside an empty page's {bare:.1f} s"
    perf_row(what="opening report.html of 10,000 trials in Chromium", ours=whole - bare, unit="s", target=3, note=note)
