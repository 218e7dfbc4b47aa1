"""What is said of effective length holds whatever undecided answers are: hits, misses, or some of each."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from needlework.core.record import OutcomeName
from needlework.results.statistics.effective_length import EffectiveLength, absolute_length, relative_length
from needlework.results.statistics.length_scores import base_of, length_scores
from needlework.results.statistics.panels import ScoredTrial

LENGTHS = (500, 1000, 2000)
# By length: right answers, wrong ones, those that were cut off, those that no rule can tell.
RUNS = st.lists(st.tuples(*[st.integers(0, 30)] * 4), min_size=1, max_size=3)


def trial(length: int, repeat: int, outcome: OutcomeName) -> ScoredTrial:
    score = {"found": 1.0, "wrong": 0.0}.get(outcome)
    return ScoredTrial("m", "niah", "code", length, 50.0, repeat, outcome, score)


def trials_with(counts: Sequence[Sequence[int]]) -> list[ScoredTrial]:
    kinds: tuple[OutcomeName, ...] = ("found", "wrong", "censored", "unclear")
    found = []
    for length, of in zip(LENGTHS, counts, strict=False):
        outcomes = [kind for kind, count in zip(kinds, of, strict=True) for _ in range(count)]
        found += [trial(length, repeat, outcome) for repeat, outcome in enumerate(outcomes)]
    return found


def lengths_of(trials: Sequence[ScoredTrial]) -> list[EffectiveLength]:
    return [absolute_length(length_scores(trials)), relative_length(trials, base_of(trials))]


def tokens(length: int | None) -> int:
    return length or 0


@given(counts=RUNS, seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_deciding_answers_turns_no_claim_into_its_opposite(
    counts: list[tuple[int, int, int, int]], seed: int, share: float
) -> None:
    chance, trials = random.Random(seed), trials_with(counts)
    known = [
        trial(each.length, each.sample, "found" if chance.random() < share else "wrong") if each.score is None else each
        for each in trials
    ]

    for before, after in zip(lengths_of(trials), lengths_of(known), strict=True):
        if before.rule == "relative" and (not before.base or not after.base):
            continue  # nothing to keep a share of: no length is judged
        # What held for sure is not shown to fail, and what failed for sure is not shown to hold.
        assert tokens(before.conservative) <= tokens(after.optimistic)
        assert tokens(after.conservative) <= tokens(before.optimistic)
        # By the scores alone it is one of the lengths between.
        assert tokens(before.point) <= tokens(after.point) <= tokens(before.point_most)
        assert tokens(before.longest_passing) <= tokens(after.longest_passing)


def test_a_length_holds_only_with_all_undecided_answers_as_misses() -> None:
    survivors = absolute_length(length_scores(trials_with([(40, 0, 0, 0), (40, 0, 0, 0)])))
    half = absolute_length(length_scores(trials_with([(40, 0, 40, 0), (40, 0, 0, 40)])))

    assert survivors.status == "at least"
    assert (half.status, half.conservative, half.point, half.point_most, half.optimistic) == (
        "undetermined", None, None, 1000, 1000,
    )  # fmt: skip
    assert half.caveat == "80 undecided answers: by the scores alone none if they are misses, 1k if hits"
    assert half.words == f"undetermined at 500, 95 % interval none to 1k or more, {half.caveat}"


def test_a_length_fails_only_with_all_undecided_answers_as_hits() -> None:
    failing = absolute_length(length_scores(trials_with([(0, 40, 2, 0), (0, 40, 0, 0)])))
    open_ = absolute_length(length_scores(trials_with([(0, 5, 40, 0), (0, 40, 0, 0)])))

    assert failing.status == "none"
    assert (open_.status, open_.hangs) == ("undetermined", True)


def test_few_undecided_answers_take_nothing_away() -> None:
    found = absolute_length(length_scores(trials_with([(200, 0, 1, 0), (200, 0, 0, 2)])))

    assert (found.status, found.hangs, found.undecided, found.caveat) == ("at least", False, 3, "")


def test_a_length_of_undecided_answers_alone_was_tested() -> None:
    found = absolute_length(length_scores(trials_with([(40, 0, 0, 0), (0, 0, 40, 0)])))

    assert (found.status, found.answer, found.between) == ("undetermined", "undetermined at 1k", "500 to 1k or more")


def test_a_base_of_undecided_answers_makes_no_bar() -> None:
    trials = trials_with([(40, 0, 40, 0), (50, 30, 0, 0)])
    found = relative_length(trials, base_of(trials))

    assert (found.status, found.hangs, found.base, found.base_range) == ("undetermined", True, 1.0, (0.5, 1.0))
    assert found.bar == "score >= 85 % of the base at 500"
