"""Effective length: both rules, certainty, and RULER's published table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.effective_length import RULER_THRESHOLD, absolute_length, relative_length
from needlework.results.statistics.length_scores import (
    LengthScore,
    base_score,
    exact_scores,
    joint_draws,
    length_scores,
)
from needlework.results.statistics.panels import Trial
from tests.parity.cases import cases, meta

TrialsOf = Callable[..., list[Trial]]

# Rows whose published effective length is not the longest one at or above 85.6, the table's own rule.
BREAK_THEIR_RULE = {
    "Qwen3-14B* (14B)": ("128k", "64k", "85.1 at 128K is below 85.6, though it is underlined"),
    "Qwen2.5-7B-Instruct-1M* (7B)": ("128k", "64k", "84.4 at 128K is below 85.6 and not underlined"),
    "Qwen3-8B* (8B)": ("64k", "32k", "82.1 at 64K is below 85.6 and not underlined"),
    "Qwen3-4B* (4B)": ("64k", "32k", "77.8 at 64K is below 85.6 and not underlined"),
    "EXAONE-4.0-1.2B* (1.2B)": ("32k", "16k", "81.1 at 32K is below 85.6 and not underlined"),
}


def test_rulers_table_is_reproduced_but_for_rows_that_break_its_rule() -> None:
    """Ours takes >=: Qwen3-32B (85.6 at 128K, published as > 128K) passes, with a strict > it would be a sixth row."""
    disagreeing = {}
    for row in cases("ruler/leaderboard_table"):
        scores = exact_scores(
            (int(label[:-1]) * 1000, None if score is None else score / 100) for label, score in row["scores"].items()
        )
        found = absolute_length(scores, meta("ruler/leaderboard_table")["threshold"] / 100)
        assert found.point == found.conservative == found.longest_passing
        assert found.status != "undetermined"
        ours = "none" if found.point is None else f"{found.point // 1000}k"
        published = {"<4k": "none"}.get(row["effective"].lower(), row["effective"].lower().removeprefix(">"))
        assert (found.status == "at least") == (ours == "128k")
        if ours != published:
            disagreeing[row["model"]] = (published, ours)

    assert meta("ruler/leaderboard_table")["threshold"] / 100 == RULER_THRESHOLD
    assert disagreeing == {model: pair[:2] for model, pair in BREAK_THEIR_RULE.items()}


def test_contiguous_stops_at_the_first_failure() -> None:
    found = absolute_length(exact_scores([(1000, 0.9), (2000, 0.7), (4000, 0.95)]), 0.8)

    assert (found.status, found.point, found.conservative, found.longest_passing) == ("reached", 1000, 1000, 4000)
    assert found.decisive == 2000
    assert found.text == "score >= 80.0 %: 1k, 95 % interval 1k, longest passing 4k"


def test_answers_in_words() -> None:
    assert absolute_length(exact_scores([(1000, 0.9), (4000, 0.9)]), 0.9).answer == ">= 4k (longest tested)"
    assert absolute_length(exact_scores([(1000, 0.5)]), 0.9).answer == "none"
    assert absolute_length((), 0.9).answer == "undetermined"


def test_an_interval_that_straddles_at_the_decisive_length_leaves_it_undetermined() -> None:
    sure, straddling, failing = LengthScore(1000, 1.0, 0.9, 1.0), LengthScore(2000, 0.9, 0.7, 0.97), 0.2
    found = absolute_length([sure, straddling, LengthScore(4000, failing, 0.1, 0.3)], 0.8)

    assert (found.status, found.decisive) == ("undetermined", 2000)
    assert (found.point, found.conservative, found.optimistic) == (2000, 1000, 2000)
    assert found.text == "score >= 80.0 %: undetermined at 2k, 95 % interval 1k to 2k, by the scores alone 2k"


def test_an_interval_that_reaches_the_longest_length_is_open() -> None:
    found = absolute_length([LengthScore(1000, 0.5, 0.2, 0.9), LengthScore(2000, 0.6, 0.3, 0.9)], 0.8)

    assert (found.conservative, found.optimistic, found.between) == (None, 2000, "none to 2k or more")
    assert absolute_length([LengthScore(1000, 0.1, 0.0, 0.2)], 0.8).between == "none"


def test_lengths_without_a_score_stop_the_walk_or_end_the_test() -> None:
    between = absolute_length(exact_scores([(1000, 0.9), (2000, None), (4000, 0.9)]), 0.8)
    beyond = absolute_length(exact_scores([(1000, 0.9), (2000, 0.9), (4000, None)]), 0.8)

    assert (between.status, between.decisive, between.point) == ("undetermined", 2000, 1000)
    assert (beyond.status, beyond.longest_tested) == ("at least", 2000)


def test_the_relative_rule_by_hand() -> None:
    """Base (0.9 + 0.7) / 2 = 0.8 over 500 and 1k; the bar is 0.68."""
    scores = exact_scores([(500, 0.9), (1000, 0.7), (2000, 0.68), (4000, 0.67)])
    found = relative_length(scores)

    assert base_score(scores) == pytest.approx(0.8)
    assert found.threshold == pytest.approx(0.68)
    assert (found.point, found.status) == (2000, "reached")


def test_the_shortest_length_is_the_base_where_none_is_short_and_passes_by_definition() -> None:
    scores = [LengthScore(4000, 0.5, 0.3, 0.7), LengthScore(8000, 0.2, 0.1, 0.3)]
    found = relative_length(scores)

    assert (found.threshold, found.point, found.conservative, found.status) == (0.425, 4000, 4000, "reached")
    assert found.text == "score >= 42.5 %, 85 % of the base: 4k, 95 % interval 4k"


def test_a_base_of_nothing_has_nothing_to_keep() -> None:
    assert relative_length(exact_scores([(1000, 0.0), (2000, 0.0)])).status == "none"
    unknown = relative_length(exact_scores([(1000, None)]))
    assert (unknown.status, unknown.text) == ("undetermined", "score >= 85 % of the base: undetermined")


def test_five_hits_of_five_do_not_pass_85_6(trials_of: TrialsOf) -> None:
    found = absolute_length(length_scores(trials_of((1000, 50.0, i, 1.0) for i in range(5))))

    assert (found.status, found.point, found.conservative) == ("undetermined", 1000, None)


def test_chances_are_the_share_of_resamples_that_pass(trials_of: TrialsOf) -> None:
    """30 of 40 hits: the resampled number of hits is binomial (40, 0.75), the bar is 30."""
    rows = [(1000, 50.0, i, 1.0) for i in range(40)] + [(2000, 50.0, i, float(i < 30)) for i in range(40)]
    trials = trials_of(rows)
    draws = joint_draws(trials)
    found = absolute_length(length_scores(trials), 0.75, draws=draws)
    relative = relative_length(length_scores(trials), 0.75, draws=draws)

    assert found.chances[1000] == 1.0
    assert found.chances[2000] == pytest.approx(0.5605, abs=0.035)  # scipy.stats.binom.sf(29, 40, 0.75)
    assert relative.chances == found.chances
    assert joint_draws(trials_of(rows[:9])) is None


def test_length_and_base_of_a_draw_come_from_one_resample(trials_of: TrialsOf) -> None:
    """Samples that score half as much at twice the length: every draw keeps just half of its base."""
    values = np.random.default_rng(0).uniform(0.2, 1, size=20)
    trials = trials_of((length, 50.0, i, v * 1000 / length) for i, v in enumerate(values) for length in (1000, 2000))
    found = relative_length(length_scores(trials), 0.5, draws=joint_draws(trials))

    assert found.chances == {1000: 1.0, 2000: 1.0}


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.3)), min_size=1, max_size=8),
    st.floats(0.01, 1),
    st.floats(0.01, 1),
)
def test_a_higher_threshold_never_lengthens(pairs: list[tuple[float, float]], one: float, other: float) -> None:
    scores = [
        LengthScore(1000 * (i + 1), score, max(0.0, score - half), min(1.0, score + half))
        for i, (score, half) in enumerate(pairs)
    ]
    low, high = (absolute_length(scores, threshold) for threshold in sorted((one, other)))

    for name in ("point", "conservative", "longest_passing"):
        assert (getattr(high, name) or 0) <= (getattr(low, name) or 0)
    assert (low.conservative or 0) <= (low.point or 0) <= (low.longest_passing or 0)
