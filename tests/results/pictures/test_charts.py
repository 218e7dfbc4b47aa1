"""Charts as data: which a run has, their titles, rows and lines."""

import pytest

from needlework.results.report.charts import (
    document_charts,
    heatmap_title,
    telling_panels,
)
from needlework.results.report.section import ChartLine, ChartPoint, LineChart
from needlework.results.statistics.documents import document_statistics
from needlework.results.statistics.panels import summarise
from tests.results.document_records import asked


def test_heatmaps_of_one_box_or_of_equal_values_are_left_out(make_record):
    def drawn(records):
        return len(telling_panels(summarise(records)))

    assert drawn([make_record(repeat=i) for i in range(3)]) == 0
    assert drawn([make_record(length=length) for length in (1000, 2000)]) == 0
    assert drawn([make_record(), make_record(length=2000, outcome="wrong")]) == 1
    assert drawn([make_record(), make_record(length=2000, outcome="error")]) == 1
    assert drawn([make_record(length=n, depth=d) for n in (1000, 2000) for d in (0.0, 100.0)]) == 1
    assert drawn([asked(0, depth=d) for d in (0.0, 50.0)] + [asked(0, "wrong", task="doc_size", length=2000)]) == 0


@pytest.mark.parametrize(
    ("outcomes", "title"),
    [
        (("found", "wrong"), "mock scores 50.0 % on niah · code"),
        (("found", "censored"), "mock scores 50.0–100 % on niah · code"),
        (("error",), "mock has no score on niah · code"),
    ],
)
def test_titles_of_heatmaps_say_the_score(make_record, outcomes, title):
    records = [make_record(repeat=i, outcome=outcome) for i, outcome in enumerate(outcomes)]
    assert heatmap_title(summarise(records)[0]) == title


@pytest.mark.parametrize(
    ("depths", "words"),
    [
        ([(0, 0.0), (1, 50.0), (2, 100.0)], "answer document at depths spread over 0–100 %"),
        ([(0, 50.0), (1, 50.0)], "answer document at depth 50 %"),
        ([(0, 0.0), (0, 100.0), (1, 0.0), (1, 100.0)], "answer document at depths 0, 100 %"),
    ],
)
def test_the_chart_of_sizes_says_where_the_answer_document_was(depths, words):
    records = [asked(q, task="doc_size", length=n, depth=depth) for n in (2000, 4000) for q, depth in depths]
    (chart,) = document_charts(document_statistics(records)[0])
    assert words in chart.subtitle


@pytest.mark.parametrize(
    ("xs", "shares"),
    [((1, 2, 4, 8), (0, 1 / 3, 2 / 3, 1)), ((1, 2, 3, 4), (0, 1 / 3, 2 / 3, 1)), ((5,), (0.5,)), ((1, 9), (0, 1))],
)
def test_lengths_are_spread_evenly_over_the_axis(xs, shares):
    line = ChartLine("a", tuple(ChartPoint(x, str(x), 50.0, None, None, 1) for x in xs))
    chart = LineChart("c", "t", "x", (line,))

    assert chart.shares(xs) == pytest.approx(shares)
    assert chart.ticks(80)[-1] == (pytest.approx(shares[-1]), str(xs[-1]))
    assert len(chart.ticks(1)) == 1
