"""Boards and series: what was asked the same is ranked together, an answer without a score is a miss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.report.boards import board_sections
from needlework.results.statistics.comparison.comparison import compare_runs
from needlework.results.statistics.leaderboard import ModelRun, boards_of, changes, entries_of, rank_ranges, series_of
from needlework.results.statistics.run_report import run_report
from perf.simulations.history import detection_rates
from tests.results.builders import new_record, records_of


def _found(_length, _repeat):
    return "found"


def records(outcome, tasks=("niah",), **fields):
    return [record for task in tasks for record in records_of(outcome, **{"task": task} | fields)]


def run_of(name, outcome=_found, *, suite=None, **fields):
    manifest = {"suites": [{"task": "niah", **suite}]} if suite else {}
    return model_run(name, reversed(records(outcome, model=name, **fields)), manifest=manifest)


def model_run(name, records, **fields):
    entries = {entry.task: entry for entry in entries_of(records, fields.get("manifest", {}))}
    return ModelRun(name, f"run-{name}", name, entries, **fields)


def ranks(runs):
    return [{run.name: ranks for run, ranks in board.rows} for board in boards_of(runs)]


def row(runs, at):
    """A row of the first board by its columns."""
    (table,) = board_sections(boards_of(runs))[0].tables
    return dict(zip(table.head, table.rows[at], strict=True))


def test_models_that_too_few_samples_could_tell_apart_are_tied_and_it_is_told():
    (few,) = board_sections(boards_of([run_of(name, repeat=0) for name in "ab"]))
    assert few.notes == (
        "no difference between these 2 is shown: all are tied; 6 samples are the fewest that could show any",
    )


@pytest.mark.parametrize("outcome", ["censored", "unclear", "error", "skipped"])
def test_what_has_no_score_is_a_miss_for_boards_series_and_comparisons_alike(outcome):
    whole, lost = run_of("whole"), run_of("lost", lambda length, _: "found" if length < 4000 else outcome)

    assert ranks([lost, whole]) == [{"whole": (1, 1), "lost": (2, 2)}]
    assert [row([lost, whole], at)["misses counted"] for at in (0, 1)] == ["100", "50.0"]
    (series,) = series_of([whole, lost], by_model=False)
    assert [change.is_fall for change in series.changes] == [True]
    runs = {"a": records(_found), "b": records(lambda length, _: "found" if length < 4000 else outcome)}
    assert compare_runs(runs)[1].verdict == "worse"


def test_one_overall_score_of_several_tasks_everywhere():
    """Two tasks of one family and one of another, of which one has twice the trials."""
    tasks = ("ruler_vt", "ruler_cwe", "niah")

    def outcome(_length, repeat):
        return "found" if repeat % 2 else "wrong"

    asked = records(outcome, tasks, model="a") + [new_record(model="a", needle="more", repeat=at) for at in range(24)]
    score = run_report(asked).overall("a")
    assert score.mean == pytest.approx((0.5 + 0.75) / 2)
    entries = entries_of(asked, {})
    assert [entry.task for entry in entries] == ["all tasks", "niah", "ruler_cwe", "ruler_vt"]
    assert entries[0].overall == score
    assert entries[0].counted == pytest.approx(score.mean)
    worse = [*asked[:72], *(new_record(model="a", needle="more", repeat=at, outcome="wrong") for at in range(24))]
    first, second = compare_runs({"a": asked, "b": worse})
    assert first.scores == score
    assert second.pair.whole.difference.mean == pytest.approx(-0.25)
    assert second.verdict == "worse"


@pytest.mark.parametrize(
    "other",
    [
        {"question": "Another one?"},
        {"reference": {"answers": ["1"]}},
        {"scorer": "contains"},
        {"seed": 1},
        {"suite": {"corpus": "other"}},
    ],
    ids=str,
)
def test_other_cells_are_ranked_apart(other):
    boards = ranks([run_of("a"), run_of("b", **other)])
    assert sorted(map(list, boards)) == [["a"], ["b"]]


def test_what_was_addressed_in_another_way_is_marked_with_what_differs():
    usual = {"template": "chat", "system_prompt": None}
    runs = [
        run_of("a", suite=usual),
        run_of("b", suite={**usual, "system_prompt": "Be terse."}),
        run_of("c", suite=usual),
    ]

    assert [row(runs, at)["model"] for at in range(3)] == ["a", "b *", "c"]
    (section,) = board_sections(boards_of(runs))
    assert section.notes[-1].endswith("which may be what differs: b (system prompt Be terse., others none)")


def test_the_board_of_all_tasks_has_the_runs_that_have_them_all():
    tasks = ("chain", "niah")
    flaky = run_of("b", lambda _, repeat: "found" if repeat > 8 else "error", tasks=tasks)
    runs = [run_of("a", tasks=tasks), flaky, run_of("c")]

    assert [sorted(names) for names in ranks(runs)] == [["a", "b"], ["a", "b"], ["a", "b", "c"]]
    assert row(runs, 1)["model"] == "b (36 errors)"


def test_a_place_of_its_own_takes_a_shown_difference_and_enough_samples():
    good, fair, poor = np.full(12, 5.0), np.tile([5.0, 4.0], 6), np.zeros(12)

    assert rank_ranges(np.array([fair, poor, good])) == [(1, 2), (3, 3), (1, 2)]
    assert rank_ranges(np.array([np.full(5, 5.0), np.zeros(5)])) == [(1, 2), (1, 2)]
    assert rank_ranges(np.array([np.full(6, 5.0), np.zeros(6)])) == [(1, 1), (2, 2)]


def test_each_pair_of_three_models_is_tested_both_ways():
    """Seven samples that all say the same have p = 1/128, six times that is below 5 %."""
    three = np.array([[5.0], [3.0], [0.0]])

    assert rank_ranges(np.tile(three, 7)) == [(1, 1), (2, 2), (3, 3)]
    assert rank_ranges(np.tile(three, 6)) == [(1, 3), (1, 3), (1, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("samples", [8, 20])
def test_equal_models_are_told_apart_in_one_table_of_twenty_at_most(samples):
    rng = np.random.default_rng(samples)
    wrong = 0
    for _ in range(600):
        chance = rng.beta(4, 1, size=(1, samples))
        sums = rng.binomial(3, chance, size=(6, samples)).astype(float)
        wrong += any(each != (1, 6) for each in rank_ranges(sums))
    assert wrong / 600 <= 0.05 + 0.02


def runs_at(*levels, samples=12):
    """Runs whose samples all score the same."""
    return np.array([[level] * samples for level in levels])


@pytest.mark.parametrize(
    ("levels", "shown"),
    [((5, 5, 5, 2, 2), [(2, 3, 3, 1.0, 0.4)]), ((5, 5, 0, 5, 5), [(1, 2, 2, 1.0, 0.0), (2, 3, 3, 0.0, 1.0)])],
)
def test_a_change_is_shown_with_the_runs_between_which_it_lies(levels, shown):
    found = changes(runs_at(*levels), 60)
    assert [(each.first, each.last, each.at, each.before, each.after) for each in found] == shown
    assert all(each.p < 0.01 for each in found)


def test_what_two_runs_cannot_show_several_can_between_wider_ends():
    rng = np.random.default_rng(3)
    sums = rng.binomial(5, np.repeat([0.75, 0.6], 8)[:, None], size=(16, 12)).astype(float)
    (change,) = changes(sums, 60)

    assert change.first < 8 <= change.last
    assert change.last - change.first > 1


@given(st.integers(2, 9), st.integers(1, 30), st.floats(0, 5))
def test_runs_that_are_alike_have_no_change(runs, samples, level):
    assert changes(runs_at(*[level] * runs, samples=samples), 5 * samples) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "samples"), [(4, 10), (10, 20), (30, 20)])
def test_false_changes_are_rare_and_true_ones_are_found(runs, samples):
    rates = detection_rates(runs, samples, 0.9, 5, 100)

    assert rates.false <= 0.05 + 0.05
    assert rates.misplaced <= 0.05 + 0.05
    assert rates.detected >= (0.3 if samples == 10 else 0.9)
