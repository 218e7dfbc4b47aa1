"""Adaptive runs: boundaries, the walk over lengths, the statement in words."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.grid import Cell
from needlework.results.adaptive.design import SearchDesign, boundaries, boundaries_at, looks_of, unit_of
from needlework.results.adaptive.survey import Rules, Survey, costs, max_cost, replacements_from, trials_of
from needlework.results.adaptive.walk import LengthState, Trials, estimates, trials_to_send, walk
from needlework.results.adaptive.walk import bracket as bracket_of
from needlework.results.report.adaptive import plan_lines
from tests.parity.cases import cases


@pytest.mark.parametrize(
    "case", cases("field/adaptive_boundaries"), ids=lambda case: f"{case['bar']}-{case['rho']}-{case['lengths']}"
)
def test_boundaries_equal_the_specification(case):
    found = boundaries(case["bar"], tuple(case["looks"]), 0.025, 0.025 / case["lengths"], case["rho"])

    assert (list(found.pass_at_least), list(found.fail_at_most)) == (case["pass_at_least"], case["fail_at_most"])


def test_a_share_of_a_hit_counts_for_the_safe_side():
    found = boundaries(0.856, looks_of("normal", 11))
    most = found.fail_at_most[0]
    verdicts = [
        found.verdict(2, [1.0] * 33),
        found.verdict(2, [1 / 3] * 3 + [1.0] * 32),  # 33, but for the last binary digit
        found.verdict(2, [1.0] * 32 + [0.99]),
        found.verdict(0, [1.0] * most + [0.0] * (11 - most)),
        found.verdict(0, [1.0] * most + [0.1] + [0.0] * (10 - most)),
    ]

    assert verdicts == ["pass", "pass", "", "fail", ""]


@given(st.floats(0.05, 0.95), st.integers(1, 12), st.integers(1, 9))
def test_a_length_at_the_bar_errs_no_more_than_allowed(bar, unit, lengths):
    """Walks every path of hits and misses, in another order than `boundaries`."""
    looks = looks_of("quick", unit)
    found = boundaries(bar, looks, 0.025, 0.025 / lengths)
    alive, passed, failed = {0: 1.0}, 0.0, 0.0
    for trial in range(1, looks[-1] + 1):
        after = {}
        for hits, chance in alive.items():
            after[hits + 1] = after.get(hits + 1, 0.0) + chance * bar
            after[hits] = after.get(hits, 0.0) + chance * (1 - bar)
        alive = after
        if trial in looks:
            low, high = (ends[looks.index(trial)] for ends in (found.fail_at_most, found.pass_at_least))
            passed += sum(chance for hits, chance in alive.items() if hits >= high)
            failed += sum(chance for hits, chance in alive.items() if hits <= low)
            alive = {hits: chance for hits, chance in alive.items() if low < hits < high}
    assert passed <= 0.025 + 1e-9
    assert failed <= 0.025 / lengths + 1e-9


def test_a_bar_that_was_measured_passes_above_and_fails_below():
    apart, high, low = (
        boundaries_at(SearchDesign("normal", (4_000, 8_000), 11, *bars, 0.02), 1)
        for bars in ((0.84, 0.78), (0.84, 0.84), (0.78, 0.78))
    )

    assert (apart.pass_at_least, apart.fail_at_most) == (high.pass_at_least, low.fail_at_most)


@pytest.mark.parametrize(("depths", "unit"), [(11, 11), (5, 10), (1, 10), (3, 12), (21, 21)])
def test_a_look_is_whole_rounds_of_the_depths(depths, unit):
    assert unit_of(depths) == unit


def test_a_look_of_many_trials_is_no_overflow():
    found = boundaries(0.856, looks_of("careful", 101))

    assert np.isfinite(found.pass_at_least).all()
    assert found.pass_at_least[-1] > found.fail_at_most[-1]


LENGTHS = (4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
DESIGN = SearchDesign.absolute("normal", LENGTHS, 11, 0.856)
FINE = SearchDesign.absolute("careful", (4_000, 5_000, 6_000, 8_000, 11_000), 11, 0.856)
UNIT = 11
FIRST = replacements_from(UNIT)


def answers(curve, seed=0, trials=440):
    rng = random.Random(seed)
    return [[float(rng.random() < chance) for _ in range(trials)] for chance in curve]


def walked(curve, seed=0, design=DESIGN):
    scores = answers(curve, seed, design.cap(0))
    return walk(design, lambda at, n: Trials(scores[at][:n]))


@pytest.mark.parametrize(
    ("curve", "seed", "design", "bracket", "counts"),
    [
        ([1, 1, 1, 0, 0, 0], 0, DESIGN, (3, 3), [44, 44, 44, 11, 0, 0]),
        ([1] * 6, 0, DESIGN, (6, 6), [44, 44, 44, 44, 33, 33]),
        ([0] * 6, 0, DESIGN, (0, 0), [11, 0, 0, 0, 0, 0]),  # one look
        ([0.856] * 6, 5, DESIGN, (0, 6), [33, 110, 33, 33, 88, 33]),
        ([1, 1, 0.87, 0.3, 0.1, 0], 2, DESIGN, (2, 3), [44, 44, 88, 11, 0, 0]),  # more trials would hardly help
        ([1, 1, 0.87, 0.86, 0.2], 0, FINE, (2, 4), [44, 44, 22, 33, 11]),
    ],
    ids=["a cliff", "holds", "fails at once", "at the bar: given up", "one doubling is enough", "twice the length"],
)
def test_a_walk_ends_with_a_bracket_and_sends_no_more_than_decides(curve, seed, design, bracket, counts):
    found = walked(curve, seed, design)

    assert found.ended
    assert bracket_of(found.columns) == bracket
    assert [column.n for column in found.columns] == counts


def test_shorter_lengths_have_more_trials_for_at_most_the_tokens_of_the_longest():
    caps = [DESIGN.cap(at) for at in range(len(LENGTHS))]

    assert caps == [440, 440, 440, 440, 220, 110]
    assert max(cap * length for cap, length in zip(caps, LENGTHS, strict=True)) == 110 * 128_000


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.integers(0, 50), st.integers(1, 80))
def test_the_walk_is_the_same_however_many_trials_are_in_flight(curve, seed, width):
    """Sends trials in any order: ends where the walk over all answers ends."""
    scores = answers(curve, seed)
    known = {}

    def see(at, n):
        return trials_of(known.get(at, {}), n, UNIT, 5.0)

    while not (found := walk(DESIGN, see)).ended:
        trials = trials_to_send(found, see, width)
        assert trials
        assert len(trials) == len(set(trials))
        for at, repeat in trials:
            known.setdefault(at, {})[repeat] = scores[at][repeat]
    alone = walk(DESIGN, lambda at, n: Trials(scores[at][:n]))
    assert (found.columns, found.turns) == (alone.columns, alone.turns)
    # Nothing longer than what the walk came to was sent.
    assert all(alone.columns[at].n or alone.columns[at].decision for at in known)


def test_a_whole_turn_is_in_flight_where_there_is_room():
    def see(at, n):
        return Trials((), tuple(range(n)))

    # A look, the room, and the turn of 33 trials with one look more; no length without answers.
    for width, sent in ((1, 11), (20, 20), (1_000, 44)):
        assert trials_to_send(walk(DESIGN, see), see, width) == [(0, repeat) for repeat in range(sent)]


def test_estimates_never_rise_and_fall_beyond_the_answers():
    columns = [LengthState(11, 8.0), LengthState(11, 11.0), LengthState(), LengthState()]
    first = (8 + 11 + 1.8) / 24

    assert estimates(columns, 0.856) == pytest.approx([first, first, first * 0.97, first * 0.97 * 0.93])


def test_a_trial_without_a_score_is_replaced_at_its_depth_and_is_no_miss():
    cells = tuple(Cell("niah", 4_000, float(depth), "code") for depth in range(0, 101, 10))
    survey = Survey(Rules("normal", (0.856,), 0, 5.0), SimpleNamespace(model="m", cells=cells), {})
    depths = [survey.trial(4_000, trial)[1] for trial in range(44)]
    lost = {**dict.fromkeys(range(11), 1.0), 3: None}
    replaced = trials_of({**lost, FIRST + 3: 0.0}, 11, UNIT, 5.0)

    assert [survey.trial(4_000, FIRST + trial)[1] for trial in range(44)] == depths
    assert trials_of(lost, 11, UNIT, 5.0).missing == (FIRST + 3,)
    assert (sum(replaced.scores), len(replaced.scores), replaced.lost, replaced.missing) == (10.0, 11, 1, ())


def test_too_many_trials_without_a_score_make_a_length_not_measurable():
    two_lost = {**dict.fromkeys(range(11), 1.0), 3: None, 4: None}
    scores = answers([1] * 6)
    found = walk(DESIGN, lambda at, n: Trials(scores[at][:n], hopeless=at == 2))

    assert [trials_of(two_lost, 11, UNIT, percent).hopeless for percent in (5.0, 20.0)] == [True, False]
    assert trials_of(dict.fromkeys(3 + FIRST * turn for turn in range(5)), 11, UNIT, 100).hopeless, "no replacement"
    assert (found.ended, bracket_of(found.columns)) == (True, (2, 6)), "it neither passes nor fails"
    assert [column.decision for column in found.columns][2:] == ["not measurable", "", "", ""]
    assert not any(column.n for column in found.columns[3:]), "nothing longer is sent"


def test_the_range_before_a_run_rises_with_how_far_a_model_gets():
    lengths = LENGTHS[:3]
    rules = Rules("normal", (0.856,), 0, 5.0)
    found = costs(rules, lengths, 11)
    assert [cost.tokens for cost in found] == sorted(cost.tokens for cost in found)
    assert found[0].trials == 11  # wrong everywhere: one look at the shortest
    assert found[-1].tokens < max_cost(rules, lengths, 11).tokens == 440 * 4_000 + 220 * 8_000 + 110 * 16_000
    assert plan_lines("mock", "normal", found, max_cost(rules, lengths, 11))[1].split() == [
        "wrong", "everywhere", "11", "trials,", "44k", "tokens",
    ]  # fmt: skip
