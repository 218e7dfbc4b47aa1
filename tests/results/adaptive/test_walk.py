"""What is asked next, and where the walk ends."""

import random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.grid import Cell
from needlework.results.adaptive.design import absolute
from needlework.results.adaptive.survey import Rules, Survey, replacements_from, seen
from needlework.results.adaptive.walk import LengthState, Seen, asked_next, estimates, next_parts, walk

LENGTHS = (4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
DESIGN = absolute("normal", LENGTHS, 11, 0.856)
UNIT = 11


def answers(curve, seed=0, trials=440):
    rng = random.Random(seed)
    return [[float(rng.random() < chance) for _ in range(trials)] for chance in curve]


def walked(curve, seed=0, design=DESIGN):
    scores = answers(curve, seed, design.cap(0))
    return walk(design, lambda at, n: Seen(scores[at][:n]))


def test_a_cliff_is_bracketed_between_its_two_lengths():
    found = walked([1, 1, 1, 0, 0, 0])
    assert found.ended
    assert found.bracket == (3, 3)
    assert [column.decision for column in found.columns] == ["pass"] * 3 + ["fail", "", ""]
    assert found.columns[-1].n == 0  # what lies beyond was never asked


def test_a_model_that_holds_everywhere_is_asked_to_the_end():
    assert walked([1] * 6).bracket == (6, 6)


def test_a_model_that_fails_at_once_costs_one_look():
    found = walked([0] * 6)
    assert found.bracket == (0, 0)
    assert [column.n for column in found.columns] == [11, 0, 0, 0, 0, 0]


def test_a_model_at_the_bar_is_given_up_on_and_no_length_has_more_trials_than_the_cap():
    found = walked([0.856] * 6, seed=5)
    low, high = found.bracket
    assert found.ended
    assert (low, high) == (0, 6)
    assert all(column.n <= DESIGN.cap(at) for at, column in enumerate(found.columns))


def test_a_bracket_of_one_doubling_is_enough():
    found = walked([1, 1, 0.87, 0.3, 0.1, 0], seed=2)
    assert found.bracket == (2, 3)
    assert found.columns[2].n < DESIGN.cap(2)  # near the bar more trials would hardly help


def test_shorter_lengths_have_more_trials_for_at_most_the_tokens_of_the_longest():
    caps = [DESIGN.cap(at) for at in range(len(LENGTHS))]
    assert caps == [440, 440, 440, 440, 220, 110]
    assert max(cap * length for cap, length in zip(caps, LENGTHS, strict=True)) == 110 * 128_000


def test_fine_steps_are_bracketed_to_twice_the_length():
    found = walked([1, 1, 0.87, 0.86, 0.2], design=absolute("careful", (4_000, 5_000, 6_000, 8_000, 11_000), 11, 0.856))
    assert found.bracket == (2, 4)


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.integers(0, 50), st.integers(1, 80))
def test_the_walk_is_the_same_however_many_trials_are_in_flight(curve, seed, width):
    """Sends what is asked, in any order, until nothing is: ends where the walk over all answers ends."""
    scores = answers(curve, seed)
    known: dict[int, dict[int, float]] = {}

    def see(at, n):
        return seen(known.get(at, {}), n, UNIT, 5.0)

    sent = 0
    while not (found := walk(DESIGN, see)).ended:
        asked = asked_next(found, see, width)
        assert asked
        assert len(asked) == len(set(asked))
        sent += len(asked)
        for at, repeat in asked:
            known.setdefault(at, {})[repeat] = scores[at][repeat]
    alone = walk(DESIGN, lambda at, n: Seen(scores[at][:n]))
    assert (found.columns, found.turns) == (alone.columns, alone.turns)
    assert sent >= sum(column.n for column in found.columns)
    # Nothing longer than what the walk came to was sent.
    assert all(alone.columns[at].n or alone.columns[at].decision for at in known)


def test_a_whole_turn_is_in_flight_where_there_is_room():
    found = walk(DESIGN, lambda at, n: Seen((), tuple(range(n))))
    see = lambda at, n: Seen((), tuple(range(n)))  # noqa: E731
    assert asked_next(found, see, 1) == [(0, repeat) for repeat in range(11)]
    assert asked_next(found, see, 20) == [(0, repeat) for repeat in range(20)]
    # The turn is of 33 trials, and one look more may be needed; no length that was not asked yet.
    assert asked_next(found, see, 1_000) == [(0, repeat) for repeat in range(44)]


def test_estimates_never_rise_and_fall_beyond_what_was_asked():
    columns = [LengthState(11, 8.0), LengthState(11, 11.0), LengthState(), LengthState()]
    first, second, third, fourth = estimates(columns, 0.856)
    assert first == second == pytest.approx((8 + 11 + 1.8) / 24)
    assert third == pytest.approx(first * 0.97)
    assert fourth == pytest.approx(third * 0.93)


def test_no_length_is_asked_before_every_shorter_one_had_its_first_look():
    columns = [LengthState(33, 33.0, 3, "pass"), *[LengthState()] * 5]
    assert next_parts(DESIGN, columns)[0].at == 1


class TestTrialsWithoutAScore:
    """They are replaced, and never taken for misses."""

    FIRST = replacements_from(UNIT)

    def test_a_trial_without_a_score_is_replaced_at_its_depth(self):
        outcomes = {**dict.fromkeys(range(11), 1.0), 3: None}
        assert seen(outcomes, 11, UNIT, 5.0).missing == (self.FIRST + 3,)
        found = seen({**outcomes, self.FIRST + 3: 0.0}, 11, UNIT, 5.0)
        assert (sum(found.scores), len(found.scores), found.lost, found.missing) == (10.0, 11, 1, ())

    def test_too_many_make_the_length_not_measurable(self):
        outcomes = {**dict.fromkeys(range(11), 1.0), 3: None, 4: None}
        assert seen(outcomes, 11, UNIT, 5.0).hopeless
        assert not seen(outcomes, 11, UNIT, 20.0).hopeless

    def test_a_trial_whose_replacements_fail_too_ends_it(self):
        outcomes = dict.fromkeys(3 + self.FIRST * attempt for attempt in range(5))
        assert seen(outcomes, 11, UNIT, 100.0).hopeless

    def test_what_cannot_be_measured_neither_passes_nor_fails_and_nothing_longer_is_asked(self):
        scores = answers([1, 1, 1, 1, 1, 1])
        found = walk(DESIGN, lambda at, n: Seen(scores[at][:n], hopeless=at == 2))
        assert found.ended
        assert found.bracket == (2, 6)
        assert [column.decision for column in found.columns][2:] == ["not measurable", "", "", ""]
        assert not any(column.n for column in found.columns[3:])


def test_a_replacement_is_asked_at_the_depth_of_the_trial_it_replaces():
    cells = tuple(Cell("niah", 4_000, float(depth), "code") for depth in range(0, 101, 10))
    survey = Survey(Rules("normal", (0.856,), 0, 5.0), SimpleNamespace(model="m", cells=cells), {})
    first = replacements_from(UNIT)

    assert [survey.trial(4_000, first + trial)[1] for trial in range(44)] == [
        survey.trial(4_000, trial)[1] for trial in range(44)
    ]
