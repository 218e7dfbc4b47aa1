"""The aggregation, against sums done by hand."""

import pytest

from needlework.results.report.panels import headline
from needlework.results.statistics.panels import summarise


def test_columns_are_means_over_trials(make_record):
    """Length 1000: three trials at one depth, one at the other: (1 + 1 + 0 + 0.5) / 4, not the mean of cell means."""
    outcomes = [(0.0, "found"), (0.0, "found"), (0.0, "wrong"), (100.0, "partial")]
    records = [make_record(depth=depth, repeat=at, outcome=outcome) for at, (depth, outcome) in enumerate(outcomes)]
    (panel,) = summarise([*records, make_record(depth=None, length=4000, outcome="error")])

    assert (panel.lengths, panel.depths) == ((1000, 4000), (0.0, 100.0, None))
    assert (panel.cells[1000, 0.0].n, panel.cells[1000, 0.0].mean) == (3, pytest.approx(2 / 3))
    assert [(each.n, each.mean) for each in panel.columns] == [(4, 0.625), (0, None)]
    assert panel.columns[1].interval is None
    assert [(row.n, row.mean) for row in panel.rows] == [(3, pytest.approx(2 / 3)), (1, 0.5), (0, None)]
    assert (1000, None) not in panel.cells
    assert (panel.blank, panel.partly) == (True, False)
    assert (panel.overall.n, panel.overall.mean, panel.overall.trials) == (4, 0.625, 5)
    assert (panel.overall.counts["found"], panel.overall.unscored) == (2, {"error": 1})


@pytest.mark.parametrize(
    ("names", "n", "mean", "limits", "words"),
    [
        (("found", "censored", "censored", "invalid", "skipped", "error"), 1, 1.0, (1 / 3, 1.0), "2 censored of 3"),
        (("found", "censored", "unclear", "error"), 1, 1.0, (1 / 3, 1.0), ("score 33.3–100 % (1 censored, 1 unclear of"
         " 3: all missed to all hit) · of the scored 100 %, n = 1 · 1 cell of 4 trials · 1 error")),
        (("found", "refused", "empty"), 3, 1 / 3, None, "score 33.3 % ("),
    ],
)  # fmt: skip
def test_what_has_no_score_never_enters_a_mean(make_record, names, n, mean, limits, words):
    records = [make_record(repeat=i, outcome=name) for i, name in enumerate(names)]
    for record in records:
        if record.outcome == "censored":
            record.score = 1.0  # a score beside an outcome that has none is not a score
    (panel,) = summarise(records)

    assert (panel.overall.n, panel.overall.mean) == (n, pytest.approx(mean))
    assert panel.overall.range == (limits and pytest.approx(limits))
    assert words in headline(panel)


def test_one_panel_for_each_model_task_and_needle_in_order(make_record):
    records = [make_record(model=m, task=t, needle=n) for m in "ba" for t in "yx" for n in ("n2", "n1")]
    names = [panel.name for panel in summarise(records)]

    assert (names, len(names)) == (sorted(names), 8)
    assert summarise(records) == summarise(records[::-1])
    assert summarise([]) == ()


@pytest.mark.parametrize("score", [None, float("nan"), 1.5])
def test_a_scored_outcome_needs_a_score(make_record, score):
    record = make_record()
    record.score = score
    with pytest.raises(ValueError, match=r"score is in 0\.\.1"):
        summarise([record])


def test_small_panel_is_what_the_other_tests_take_it_for(small_panel):
    assert (small_panel.cells[500, 0.0].mean, small_panel.overall.n) == (0.5, 3)
    assert (16000, 100.0) not in small_panel.cells
