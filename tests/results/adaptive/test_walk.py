"""The walk over lengths: what is sent next, and where it ends."""

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
FINE = absolute("careful", (4_000, 5_000, 6_000, 8_000, 11_000), 11, 0.856)
UNIT = 11
FIRST = replacements_from(UNIT)


def answers(curve, seed=0, trials=440):
    rng = random.Random(seed)
    return [[float(rng.random() < chance) for _ in range(trials)] for chance in curve]


def walked(curve, seed=0, design=DESIGN):
    scores = answers(curve, seed, design.cap(0))
    return walk(design, lambda at, n: Seen(scores[at][:n]))


@pytest.mark.parametrize(
    ("curve", "seed", "design", "bracket"),
    [
        ([1, 1, 1, 0, 0, 0], 0, DESIGN, (3, 3)),
        ([1] * 6, 0, DESIGN, (6, 6)),
        ([0] * 6, 0, DESIGN, (0, 0)),
        ([0.856] * 6, 5, DESIGN, (0, 6)),
        ([1, 1, 0.87, 0.3, 0.1, 0], 2, DESIGN, (2, 3)),
        ([1, 1, 0.87, 0.86, 0.2], 0, FINE, (2, 4)),
    ],
    ids=["a cliff", "holds", "fails at once", "at the bar: given up", "one doubling is enough", "twice the length"],
)
def test_a_walk_ends_with_a_bracket_within_the_cap(curve, seed, design, bracket):
    found = walked(curve, seed, design)

    assert found.ended
    assert found.bracket == bracket
    assert all(column.n <= design.cap(at) for at, column in enumerate(found.columns))


def test_no_more_is_sent_than_decides():
    cliff, fails, near = walked([1, 1, 1, 0, 0, 0]), walked([0] * 6), walked([1, 1, 0.87, 0.3, 0.1, 0], 2)

    assert [column.decision for column in cliff.columns] == ["pass"] * 3 + ["fail", "", ""]
    assert cliff.columns[-1].n == 0, "beyond the first that fails"
    assert [column.n for column in fails.columns] == [11, 0, 0, 0, 0, 0], "one look"
    assert near.columns[2].n < DESIGN.cap(2), "near the bar more trials would hardly help"


def test_shorter_lengths_have_more_trials_for_at_most_the_tokens_of_the_longest():
    caps = [DESIGN.cap(at) for at in range(len(LENGTHS))]

    assert caps == [440, 440, 440, 440, 220, 110]
    assert max(cap * length for cap, length in zip(caps, LENGTHS, strict=True)) == 110 * 128_000


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.integers(0, 50), st.integers(1, 80))
def test_the_walk_is_the_same_however_many_trials_are_in_flight(curve, seed, width):
    """Sends trials in any order until none is needed: ends where the walk over all answers ends."""
    scores = answers(curve, seed)
    known = {}

    def see(at, n):
        return seen(known.get(at, {}), n, UNIT, 5.0)

    while not (found := walk(DESIGN, see)).ended:
        trials = asked_next(found, see, width)
        assert trials
        assert len(trials) == len(set(trials))
        for at, repeat in trials:
            known.setdefault(at, {})[repeat] = scores[at][repeat]
    alone = walk(DESIGN, lambda at, n: Seen(scores[at][:n]))
    assert (found.columns, found.turns) == (alone.columns, alone.turns)
    # Nothing longer than what the walk came to was sent.
    assert all(alone.columns[at].n or alone.columns[at].decision for at in known)


def test_a_whole_turn_is_in_flight_where_there_is_room():
    def see(at, n):
        return Seen((), tuple(range(n)))

    # A look, the room, and the turn of 33 trials with one look more; no length without answers.
    for width, sent in ((1, 11), (20, 20), (1_000, 44)):
        assert asked_next(walk(DESIGN, see), see, width) == [(0, repeat) for repeat in range(sent)]


def test_estimates_never_rise_and_fall_beyond_the_answers():
    columns = [LengthState(11, 8.0), LengthState(11, 11.0), LengthState(), LengthState()]
    first = (8 + 11 + 1.8) / 24

    assert estimates(columns, 0.856) == pytest.approx([first, first, first * 0.97, first * 0.97 * 0.93])


def test_every_shorter_length_has_its_first_look_before():
    assert next_parts(DESIGN, [LengthState(33, 33.0, 3, "pass"), *[LengthState()] * 5])[0].at == 1


def test_a_trial_without_a_score_is_replaced_at_its_depth_and_is_no_miss():
    cells = tuple(Cell("niah", 4_000, float(depth), "code") for depth in range(0, 101, 10))
    survey = Survey(Rules("normal", (0.856,), 0, 5.0), SimpleNamespace(model="m", cells=cells), {})
    depths = [survey.trial(4_000, trial)[1] for trial in range(44)]
    lost = {**dict.fromkeys(range(11), 1.0), 3: None}
    replaced = seen({**lost, FIRST + 3: 0.0}, 11, UNIT, 5.0)

    assert [survey.trial(4_000, FIRST + trial)[1] for trial in range(44)] == depths
    assert seen(lost, 11, UNIT, 5.0).missing == (FIRST + 3,)
    assert (sum(replaced.scores), len(replaced.scores), replaced.lost, replaced.missing) == (10.0, 11, 1, ())


def test_too_many_trials_without_a_score_make_a_length_not_measurable():
    two_lost = {**dict.fromkeys(range(11), 1.0), 3: None, 4: None}
    scores = answers([1] * 6)
    found = walk(DESIGN, lambda at, n: Seen(scores[at][:n], hopeless=at == 2))

    assert [seen(two_lost, 11, UNIT, percent).hopeless for percent in (5.0, 20.0)] == [True, False]
    assert seen(dict.fromkeys(3 + FIRST * attempt for attempt in range(5)), 11, UNIT, 100.0).hopeless, "no replacement"
    assert (found.ended, found.bracket) == (True, (2, 6)), "it neither passes nor fails"
    assert [column.decision for column in found.columns][2:] == ["not measurable", "", "", ""]
    assert not any(column.n for column in found.columns[3:]), "nothing longer is sent"
