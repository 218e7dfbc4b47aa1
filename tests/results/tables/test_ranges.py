"""A score that leaves cut-off answers out is never a headline: it is a range, wherever a mean would stand."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.files.csv_files import cells_text
from needlework.results.files.json_files import results_bytes
from needlework.results.html.report import html_text
from needlework.results.report.panels import headline
from needlework.results.statistics.panels import range_of, summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.wording import range_words, score_and_interval
from needlework.results.tables.summary import markdown_lines, run_lines


@pytest.fixture
def report(make_record):
    """Two tasks; of the first, 2 of 10 answers at 4k are cut off, of the second all are scored."""
    outcomes = ["found"] * 6 + ["wrong"] * 2 + ["censored"] * 2
    records = [make_record(length=4000, repeat=i, outcome=name) for i, name in enumerate(outcomes)]
    return run_report([*records, *(make_record(task="copy", repeat=i) for i in range(10))])


def test_the_headline_is_the_range_and_the_scored_come_second(report):
    words = [headline(panel) for panel in report.panels]

    assert words[0].startswith("score 100 % (95 % interval ")
    assert words[1].startswith(
        "score 60.0–80.0 % (2 censored of 10: all missed to all hit) · of the scored 75.0 % (95 %"
    )


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (["censored"] * 3, "score 0–100 % (3 censored of 3: all missed to all hit) · none scored"),
        (["found", "invalid"], "score 100 %, n = 1"),
        (["found", "skipped"], "score 100 %, n = 1"),
        (["found", "error"], "score 100 %, n = 1"),
        (["found", *["empty"] * 3, "refused"], "n = 5 · 1 cell of 5 trials · every trial scored · 1 refused · 3 empty"),
    ],
)
def test_only_undecided_answers_make_a_range(make_record, outcomes, words):
    (panel,) = summarise([make_record(repeat=i, outcome=name) for i, name in enumerate(outcomes)])

    assert words in headline(panel)
    assert (panel.overall.range is not None) == ("censored" in outcomes)
    assert (score_and_interval(panel.overall) == ("0–100", "–")) == ("censored" in outcomes)


def test_tasks_and_macro_are_ranges(report):
    (macro,) = report.macros
    lines = run_lines(report, color=False, encoding="utf-8", width=100)

    assert macro.range == pytest.approx((0.8, 0.9))
    assert next(line for line in lines if line.startswith("  niah ")).split()[1:4] == ["60.0–80.0", "scored", "75.0"]
    assert next(line for line in lines if line.startswith("  macro ")).split()[5:8] == ["80.0–90.0", "scored", "87.5"]


def test_files_have_it(report):
    results = json.loads(results_bytes(report))
    (copy, niah) = results["summary"]

    assert (copy["overall"]["range"], niah["overall"]["range"]) == (None, [0.6, 0.8])
    assert niah["columns"][0]["range"] == [0.6, 0.8]
    assert results["tasks"][1]["range"] == [0.6, 0.8]
    assert results["macro"][0]["range"] == pytest.approx([0.8, 0.9])
    cell = list(csv.DictReader(io.StringIO(cells_text(report.panels))))[1]
    assert (cell["score_if_undecided_missed"], cell["score_if_undecided_hit"]) == ("0.6", "0.8")
    assert "| mock | niah | code | 60.0–80.0 | scored 75.0 (" in "\n".join(markdown_lines(report))
    assert "<td>60.0–80.0</td><td>scored 75.0 (" in html_text(report)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 50))
def test_the_scored_mean_lies_within_and_the_width_is_the_share_of_the_undecided(hits, misses, censored):
    n = hits + misses
    ends = range_of(hits / n if n else None, n, {"censored": censored})

    assert ends is not None
    low, high = ends
    assert high - low == pytest.approx(censored / (n + censored))
    assert not n or low - 1e-9 <= hits / n <= high + 1e-9
    assert range_words((low, high)).count("–") == 1
