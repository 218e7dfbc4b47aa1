"""Depth effects: one test over all shapes, and the names that shapes get."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.depth import depth_effect, depth_effects
from needlework.results.statistics.depth_tables import DepthColumn, depth_table, templates
from needlework.results.statistics.panels import panels_of

TENTHS = tuple(range(0, 101, 10))
THIRDS = (0.0, 50.0, 100.0)


def curve(trials_of, scores, samples=40, seed=0):
    """0/1 trials at eleven depths with these chances, from 0 % to 100 %."""
    hits = np.random.default_rng(seed).random((samples, 11)) < np.array(scores)
    return trials_of((4000, depth, i, float(hits[i, at])) for i in range(samples) for at, depth in enumerate(TENTHS))


def extremes_of(trials):
    ends = depth_effect(trials).extremes
    assert ends is not None
    return ends


def columns(depths):
    return tuple(DepthColumn(depth, depth, depth) for depth in depths)


@pytest.mark.parametrize(
    ("label", "scores"),
    [
        ("flat", [0.97] * 11),
        ("ceiling", [1.0] * 11),
        ("floor", [0.0] * 11),
        ("lost in the middle", [1.0, 0.95, 0.8, 0.6, 0.4, 0.3, 0.4, 0.6, 0.8, 0.95, 1.0]),
        ("primacy", [0.98] * 3 + [0.4] * 8),
        ("recency", [0.2] * 9 + [0.9, 1.0]),
        ("lost in the middle", [1.0] * 3 + [0.3] * 5 + [0.7] * 3),
        ("uneven", [0.6] * 3 + [0.4] * 6 + [1.0] * 2),
        ("falling", [1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
        ("rising", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]),
        ("hole at 100 %", [0.98] * 10 + [0.4]),
        ("hole at 0..30 %", [0.5] * 4 + [0.95] * 7),
        ("hole at 10..30 %", [0.95] + [0.4] * 3 + [0.95] * 7),
        ("uneven, best at 40..60 %", [0.4] * 4 + [1.0] * 3 + [0.4] * 4),
    ],
)
def test_shapes_are_named(trials_of, label, scores):
    trials = curve(trials_of, scores)
    effect = depth_effect(trials)

    assert effect.label == label
    assert depth_effect(trials[::-1]) == effect, "the order does not matter"
    assert depth_effect([trial._replace(sample=trial.sample + 7) for trial in trials]) == effect, "nor do names"


def test_a_gentle_slope_is_no_hole(trials_of):
    """Where a named shape fits better than every window, it names the effect, however near a window comes."""
    for seed in (3, 8, 11):
        assert depth_effect(curve(trials_of, np.linspace(0.8, 0.4, 11), 20, seed)).label == "falling"


def test_the_largest_difference_of_random_depths_is_agresti_and_caffos(trials_of):
    """A hit and a miss are added to each side: 20 of 22 inside each fifth, 77 of 82 outside."""
    depths = (10.0, 30.0, 50.0, 70.0, 90.0)
    trials = trials_of((1000, depths[at % 5], at, float(at >= 5)) for at in range(100))
    inside, outside = 20 / 22, 77 / 82
    variance = inside * (1 - inside) / 22 + outside * (1 - outside) / 82

    assert depth_effect(trials).bound == pytest.approx(outside - inside + 1.644854 * variance**0.5)


@pytest.mark.parametrize(
    ("depths", "count", "ends"), [(TENTHS, 113, (3, 3, 4)), ((0.0, 25.0, 50.0, 75.0, 100.0), 23, (1, 1, 2))]
)
def test_there_are_as_many_shapes_as_the_specification_counts(depths, count, ends):
    named, scanned = templates(columns(depths))

    assert len(scanned) == count
    names = ["primacy", "recency", "lost in the middle", "lost in the middle", "rising", "falling"]
    assert [each.shape for each in named] == names
    assert tuple(sum(each.weights) for each in named[:3]) == ends, "depths at the beginning, at the end, at both"


@pytest.mark.parametrize(
    ("low", "shape"),
    [
        ((40, 100), "primacy"), ((50, 100), "falling"), ((70, 100), "hole"), ((0, 60), "recency"),
        ((0, 40), "rising"), ((0, 30), "hole"), ((40, 50), "lost in the middle"), ((50, 50), "hole"),
        ((60, 90), "hole"), ((20, 80), "lost in the middle"),
    ],
)  # fmt: skip
def test_a_window_is_named_by_where_it_is(low, shape):
    _, scanned = templates(columns(TENTHS))
    windows = [each for each in scanned if each.place == low and min(each.weights) == each.weights[int(low[0] // 10)]]

    assert [each.shape for each in windows] == [shape]


@pytest.mark.parametrize(
    "rows",
    [
        [(1000, 50.0, i, float(i % 2)) for i in range(30)],  # one depth
        [(1000, None, i, 1.0) for i in range(30)],  # no depth
        [(1000, d, i, float((i + at) % 3 == 0)) for i in range(12) for at, d in enumerate(THIRDS)],
        [],
        # Four lengths that fail alike at one depth are no four samples: luck of a needle at a depth is no effect.
        [(n, d, 0, float(d != 30)) for n in (1000, 2000, 4000, 8000) for d in TENTHS],
    ],
)
def test_too_little_is_undetermined(trials_of, rows):
    assert depth_effect(trials_of(rows)).label == "undetermined"


def test_a_missing_score_leaves_its_row_in_at_its_own_level(trials_of):
    """At 2000 all is wrong and one depth has no score: that depth is not better for it."""
    rows = [(1000, d, i, 1.0) for i in range(20) for d in THIRDS]
    hard = [(2000, d, i, None if d == 50 else 0.0) for i in range(20) for d in THIRDS]
    effect = depth_effect(trials_of([*rows, *hard]))

    assert (effect.samples, effect.extremes, effect.shape) == (20, None, "undetermined")


def test_best_against_worst_pays_for_having_been_picked(trials_of):
    trials = trials_of((1000, d, i, float(d != 50 or i >= 12)) for i in range(20) for d in THIRDS)
    ends = extremes_of(trials)

    assert (ends.best, ends.worst) == ((0.0, 0.0), (50.0, 50.0))
    assert (ends.best_score, ends.worst_score) == pytest.approx((1.0, 0.4))
    assert ends.p == pytest.approx(1 / 2001, abs=0.003)
    two = [effect.extremes for effect in depth_effects([trials, trials])]
    assert [each.p_adjusted for each in two if each is not None] == pytest.approx([2 * ends.p] * 2)


def test_random_depths_are_binned(trials_of):
    """Each of 200 samples at a depth of its own, a hole from 20 to 40 %."""
    rng = np.random.default_rng(5)
    depths = rng.uniform(0, 100, size=200).round(3)
    hits = rng.random(200) < np.where((depths > 20) & (depths <= 40), 0.4, 0.95)
    effect = depth_effect(trials_of((1000, float(depths[i]), i, float(hits[i])) for i in range(200)))

    assert (effect.binned, effect.samples, effect.label) == (True, 200, "hole at 20..40 %")
    table = depth_table(trials_of((1000, float(d), i, 1.0) for i, d in enumerate(depths[:40])))
    assert [column.depth for column in table.columns] == [10, 30, 50, 70, 90]


@given(
    scores=st.lists(
        st.tuples(st.sampled_from((500, 1000)), st.sampled_from(THIRDS), st.booleans(), st.booleans()), max_size=40
    ),
    spread=st.booleans(),
)
def test_best_and_worst_are_told_with_the_means_of_the_table(trials_of, scores, spread):
    """Whatever is missing, and however unevenly depths were asked."""
    rows = [
        (length, depth, at if spread else at % 5, None if lost and not right else float(right))
        for at, (length, depth, right, lost) in enumerate(scores)
    ]
    trials = trials_of(rows)
    ends = depth_effect(trials).extremes
    means = {
        depth: row.mean for panel in panels_of(trials) for depth, row in zip(panel.depths, panel.rows, strict=True)
    }

    if ends is not None:
        assert (means[ends.best[0]], means[ends.worst[0]]) == pytest.approx((ends.best_score, ends.worst_score))
        assert ends.best_score >= ends.worst_score


def test_a_depth_that_was_asked_more_often_at_a_hard_length_is_not_shown_to_be_worse(trials_of):
    """All of 500 is right and all but one of 1000 is wrong: the depth asked at 1000 alone is lowest, by the lengths."""
    easy = [(500, depth, at, 1.0) for at, depth in enumerate([0.0] * 20 + [50.0] * 10)]
    hard = [(1000, depth, 100 + at, float(at == 0)) for at, depth in enumerate([50.0] * 10 + [100.0] * 20)]
    ends = extremes_of(trials_of([*easy, *hard]))

    assert (ends.worst, ends.worst_score) == ((100.0, 100.0), 0.0)
    assert ends.p > 0.05


def test_needles_with_the_same_depth_at_every_length_count_once(trials_of):
    """Hard needles are missed at all lengths: were these independent, 7 of 10 runs without an effect would show one."""
    rng = np.random.default_rng(1)
    shown = 0
    for _ in range(60):
        depths = rng.permutation(np.arange(20) % 5) * 25
        chances = 1 / (1 + np.exp(-1 - 4 * rng.standard_normal(20)))
        hits = rng.random((6, 20)) < chances
        rows = ((1000 * (at + 1), float(depths[i]), i, float(hits[at, i])) for at in range(6) for i in range(20))
        shown += depth_effect(trials_of(rows)).shape not in ("undetermined", "flat", "ceiling", "floor")

    assert shown <= 9  # of 60 at 5 %: more in 1 of 1,000 tries
