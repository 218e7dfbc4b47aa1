"""The aggregation, against sums done by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from needlework.core.record import Record
from needlework.results.report.panels import headline
from needlework.results.statistics.panels import Panel, summarise


def test_columns_are_means_over_trials(make_record: Callable[..., Record]) -> None:
    """Length 1000: three trials at one depth, one at the other: (1 + 1 + 0 + 0.5) / 4, not the mean of cell means."""
    records = [
        make_record(depth=0.0, repeat=0),
        make_record(depth=0.0, repeat=1),
        make_record(depth=0.0, repeat=2, outcome="wrong"),
        make_record(depth=100.0, repeat=0, outcome="partial"),
        make_record(depth=None, length=4000, outcome="error"),
    ]
    (panel,) = summarise(records)

    assert panel.lengths == (1000, 4000)
    assert panel.depths == (0.0, 100.0, None)
    assert panel.cells[1000, 0.0].n == 3
    assert panel.cells[1000, 0.0].mean == pytest.approx(2 / 3)
    assert (panel.columns[0].n, panel.columns[0].mean) == (4, 0.625)
    assert (panel.columns[1].n, panel.columns[1].mean, panel.columns[1].interval) == (0, None, None)
    assert [(row.n, row.mean) for row in panel.rows] == [(3, pytest.approx(2 / 3)), (1, 0.5), (0, None)]
    assert (1000, None) not in panel.cells
    assert panel.blank
    assert not panel.partly
    assert (panel.overall.n, panel.overall.mean, panel.overall.trials) == (4, 0.625, 5)
    assert panel.overall.counts["found"] == 2
    assert panel.overall.unscored == {"error": 1}


def test_what_has_no_score_never_enters_a_mean(make_record: Callable[..., Record]) -> None:
    names = ("found", "censored", "censored", "invalid", "skipped", "error")
    records = [make_record(repeat=i, outcome=name) for i, name in enumerate(names)]
    records[2].score = 1.0  # a score beside an outcome that has none is not a score
    (panel,) = summarise(records)

    assert (panel.overall.n, panel.overall.mean) == (1, 1.0)
    assert panel.overall.unscored == {"censored": 2, "invalid": 1, "skipped": 1, "error": 1}
    assert panel.overall.range == pytest.approx((1 / 3, 1.0))


def test_what_cannot_be_told_right_or_wrong_stands_in_the_bounds_as_what_was_cut_off_does(
    make_record: Callable[..., Record],
) -> None:
    names = ("found", "censored", "unclear", "error")
    (panel,) = summarise([make_record(repeat=i, outcome=name) for i, name in enumerate(names)])

    assert panel.overall.n == 1
    assert panel.overall.range == pytest.approx((1 / 3, 1.0))
    assert headline(panel) == (
        "score 33.3–100 % (1 censored, 1 unclear of 3: all missed to all hit) · of the scored 100 %, n = 1"
        " · 1 cell of 4 trials · 1 error"
    )


def test_refused_and_empty_answers_count_as_zero(make_record: Callable[..., Record]) -> None:
    (panel,) = summarise([make_record(repeat=i, outcome=name) for i, name in enumerate(("found", "refused", "empty"))])

    assert panel.overall.mean == pytest.approx(1 / 3)


def test_one_panel_for_each_model_task_and_needle_in_order(make_record: Callable[..., Record]) -> None:
    records = [make_record(model=m, task=t, needle=n) for m in "ba" for t in "yx" for n in ("n2", "n1")]
    names = [panel.name for panel in summarise(records)]

    assert names == sorted(names)
    assert len(names) == 8
    assert summarise(records) == summarise(records[::-1])


def test_a_scored_outcome_needs_a_score(make_record: Callable[..., Record]) -> None:
    for score in (None, float("nan"), 1.5):
        record = make_record()
        record.score = score
        with pytest.raises(ValueError, match=r"score is in 0\.\.1"):
            summarise([record])


def test_nothing_gives_nothing() -> None:
    assert summarise([]) == ()


def test_small_panel_is_what_the_other_tests_take_it_for(small_panel: Panel) -> None:
    assert small_panel.cells[500, 0.0].mean == 0.5
    assert (16000, 100.0) not in small_panel.cells
    assert small_panel.overall.n == 3
