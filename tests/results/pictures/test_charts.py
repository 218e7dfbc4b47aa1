"""Charts as data: which a run has, their titles, rows and lines."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from needlework.core.grid import Cell
from needlework.core.record import Record
from needlework.results.adaptive.statement import statements_of
from needlework.results.adaptive.survey import Rules, Survey, TrialKey
from needlework.results.report.adaptive import adaptive_sections
from needlework.results.report.charts import (
    bar_chart,
    document_charts,
    heatmap_title,
    history_chart,
    model_charts,
    panel_heatmap,
    ruler_charts,
    task_charts,
    telling_panels,
)
from needlework.results.report.section import ChartLine, ChartPoint, Heatmap, LineChart
from needlework.results.statistics.documents import document_statistics
from needlework.results.statistics.leaderboard.boards import ModelRun, series_of
from needlework.results.statistics.leaderboard.entries import entries_of
from needlework.results.statistics.panels import asked_of, summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.ruler import TASKS, ruler_tables
from tests.results.document_records import asked

MakeRecord = Callable[..., Record]


def asked_heatmap(right_up_to):
    lengths, depths = (4_000, 8_000, 16_000, 32_000), (0.0, 50.0, 100.0)
    cells = tuple(Cell("niah", length, depth, "code") for length in lengths for depth in depths)
    series = cast(Any, SimpleNamespace(model="mock", cells=cells))
    rules = Rules("quick", (0.856,), 0, 5.0)
    outcomes: dict[TrialKey, float | None] = {}
    while trials := Survey(rules, series, outcomes).next_trials(1):
        outcomes |= {trial: float(trial[0] <= right_up_to) for trial in trials}
    (section,) = adaptive_sections(statements_of(Survey(rules, series, outcomes)))
    (chart,) = section.charts
    assert isinstance(chart, Heatmap)
    return chart


def test_an_adaptive_run_shows_how_often_each_cell_was_asked_and_what_was_decided():
    chart = asked_heatmap(8_000)

    assert chart.name == "asked-niah-code-mock"
    assert [[cell.text if cell else "" for cell in row] for row in chart.rows] == [["12", "12", "4"]] * 3
    (label, decided), *_ = chart.summaries
    assert (label, [cell.text for cell in decided]) == ("score >= 85.6 %", ["pass 36/36", "pass 36/36", "fails 0/12"])
    assert "score >= 85.6 %: 8k" in chart.subtitle


def test_lengths_that_an_adaptive_run_left_out_take_no_room():
    chart = asked_heatmap(0)

    assert chart.title == "mock does not hold RULER's 85.6 % even at 4k tokens (95 % sure)"
    assert "not asked: 8k to 32k" in chart.subtitle
    assert chart.lengths == ("4k",)


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


def test_cells_without_a_score_have_a_mark_and_no_colour(small_panel):
    chart = panel_heatmap(small_panel)
    cells = [cell for row in chart.rows for cell in row if cell]

    assert [cell.mark.outcome for cell in cells if cell.mark] == ["censored", "error", "invalid"]
    assert all(cell.value is None for cell in cells if cell.mark)
    assert chart.has_blanks


def test_several_models_have_one_chart_and_several_tasks_another(make_record):
    records = [
        make_record(model=model, task=task, length=length, repeat=i)
        for model in ("good", "bad")
        for task in ("niah", "chain")
        for length in (1000, 2000)
        for i in range(3)
    ]
    report = run_report(records)
    (tasks,) = task_charts(report.tasks, report.macros)
    (models,) = model_charts(summarise(record for record in records if record.task == "niah"))

    assert (tasks.name, tasks.title) == ("tasks", "2 models beside each other, task by task")
    assert model_charts(report.panels) == []
    assert (models.name, models.title) == ("models-niah-code", "2 models on niah · code, by length of the context")
    assert [line.name for line in models.lines] == ["bad", "good"]


def test_tasks_of_one_model_have_their_mean_for_a_title(make_record):
    records = [
        make_record(task=task, repeat=i, outcome="found" if i or task == "niah" else "wrong")
        for task in ("niah", "chain")
        for i in range(4)
    ]
    report = run_report(records)
    (chart,) = task_charts(report.tasks, report.macros)

    assert chart.title.startswith("mock scores 87.5 % ")
    assert "75.0 % on chain, 100 % on niah" in chart.subtitle


def test_averages_of_leval_come_first_and_say_how_many_tasks_they_have(make_record):
    records = [
        make_record(task=f"leval_{name}", needle="doc0_q0", depth=None, scorer="leval_letter")
        for name in ("tpo", "quality")
    ]
    rows = bar_chart([("", run_report(records))], "t").rows

    assert [row.name for row in rows] == ["closed average, 2 of 6 tasks", "all tasks", "leval_quality", "leval_tpo"]
    assert [row.is_average for row in rows] == [True, True, False, False]
    reports = [("", run_report([make_record(model=model)])) for model in ("z", "a")]
    assert bar_chart(reports, "t").models == ("z", "a")  # in the order of their runs


def test_ruler_has_a_line_over_length_for_each_model(make_record):
    records = [
        make_record(task=task, length=length, repeat=i, model=model)
        for model in ("a", "b")
        for task in TASKS
        for length in (1000, 2000)
        for i in range(2)
    ]
    (chart,) = ruler_charts(ruler_tables(records))

    assert [line.name for line in chart.lines] == ["a · en", "b · en"]
    assert [(point.label, point.score) for point in chart.lines[0].points] == [("1k", 100.0), ("2k", 100.0)]
    assert ruler_charts(ruler_tables([record for record in records if record.length == 1000])) == []


def test_own_documents_have_a_line_for_each_way_to_give_them():
    records = [asked(q, "found" if q else "wrong", depth=d) for q in range(4) for d in (0.0, 50.0, 100.0)]
    for length in (2000, 4000):
        records += [
            asked(q, task="doc_size", arm=arm, length=length) for q in range(4) for arm in ("", "bm25", "dense")
        ]
    records += [asked(q, task="doc_size", arm="focused", length=2000) for q in range(3)]
    size, position = document_charts(document_statistics(records)[0])

    assert (size.name, position.name) == ("documents-size-mock", "documents-position-mock")
    assert {line.name: [(point.label, point.n) for point in line.points] for line in size.lines} == {
        "answer document alone": [("800", 3)],
        "all documents": [("2k", 4), ("4k", 4)],
        "BM25 search": [("2k", 4), ("4k", 4)],
        "embedding search": [("2k", 4), ("4k", 4)],
    }
    assert position.across == "text before the answer's document (percent)"


def test_several_lengths_have_a_chart_of_depths_each_and_a_single_point_none():
    records = [asked(0, length=n, depth=d) for n in (4000, 8000) for d in (0.0, 100.0)]
    records += [asked(0, length=16000, depth=50.0), asked(0, task="doc_size"), asked(1, "error", depth=0.0)]
    charts = document_charts(document_statistics(records)[0])

    assert [chart.name for chart in charts] == ["documents-position-4k-mock", "documents-position-8k-mock"]


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


def test_a_history_has_misses_beside_scores_and_the_names_of_its_runs(make_record):
    runs = []
    for at, name in enumerate(("before", "after", "later")):
        records = [make_record(repeat=each, outcome="found" if at or each else "error") for each in range(4)]
        entries = {entry.task: entry for entry in entries_of(asked_of(records), {})}
        runs.append(ModelRun(name, name, "mock", entries, when=f"2026-01-0{at + 1} 12:00"))
    (series,) = series_of(runs, by_model=True)
    chart = history_chart(series, "history", "t", "b")

    assert [line.name for line in chart.lines] == ["score", "misses counted"]
    assert [point.label for point in chart.lines[0].points] == list(series.names)
    assert [point.score for point in chart.lines[1].points] == [75.0]


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
