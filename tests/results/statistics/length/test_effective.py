"""Effective length: both rules, certainty, and RULER's published table."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.statistics.effective_length import RULER_THRESHOLD, absolute_length, relative_length
from needlework.results.statistics.length_scores import (
    BaselineChoice,
    LengthScore,
    base_of,
    base_score,
    length_scores,
    margin_ends,
    parse_relative_to,
)
from needlework.results.statistics.panels import ScoredTrial
from tests.parity.cases import cases, meta
from tests.results.statistics.length.published_scores import exact_scores

TrialsOf = Callable[..., list[ScoredTrial]]

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


def steady(trials_of: TrialsOf, scores: dict[int, float], samples: int = 40) -> list[ScoredTrial]:
    """At each length the same share of the samples is right: the first ones."""
    return trials_of(
        (length, 50.0, i, float(i < share * samples)) for length, share in scores.items() for i in range(samples)
    )


def test_the_relative_rule_by_hand(trials_of: TrialsOf) -> None:
    """Base (0.9 + 0.7) / 2 = 0.8 over 500 and 1k, which are not judged; the bar is 0.68."""
    trials = steady(trials_of, {500: 0.9, 1000: 0.7, 2000: 0.7, 4000: 0.65})
    base = base_of(trials)
    found = relative_length(trials, base)

    assert base.score == base_score(length_scores(trials)) == pytest.approx(0.8)
    assert (base.lengths, base.words) == ((500, 1000), "at 500, 1k")
    assert found.threshold == pytest.approx(0.68)
    assert (found.point, found.conservative, found.status) == (2000, 1000, "undetermined")


def test_the_shortest_length_is_the_base_where_none_is_short_and_passes_by_definition(trials_of: TrialsOf) -> None:
    trials = steady(trials_of, {4000: 0.5, 8000: 0.1}, samples=80)
    found = relative_length(trials, base_of(trials))

    assert (found.threshold, found.point, found.conservative, found.status) == (0.425, 4000, 4000, "reached")
    assert found.text == "score >= 42.5 %, 85 % of the base at 4k: 4k, 95 % interval 4k"


def test_a_base_from_outside_judges_every_length(trials_of: TrialsOf) -> None:
    """A number, lengths of the run, or the focused control, which is the default where there is one."""
    trials = steady(trials_of, {1000: 0.8, 8000: 0.5}, samples=80)
    alone = steady(trials_of, {100: 1.0}, samples=80)

    given = relative_length(trials, base_of(trials, alone, BaselineChoice(score=0.5)))
    assert (given.threshold, given.point, given.conservative) == (0.425, 8000, 1000)
    control = relative_length(trials, base_of(trials, alone))
    assert (control.base, control.base_words, control.point) == (1.0, "the focused control", None)
    lengths = relative_length(trials, base_of(trials, alone, BaselineChoice(lengths=(8000,))))
    assert (lengths.base, lengths.point) == (0.5, 8000)


def test_the_uncertainty_of_the_base_counts(trials_of: TrialsOf) -> None:
    """A number is certain; the same score of 40 samples is not, and less so where other samples have it."""
    trials = steady(trials_of, {8000: 0.95})
    paired, others = (
        steady(trials_of, {100: 1.0}),
        [t._replace(sample=t.sample + 99) for t in steady(trials_of, {100: 1.0})],
    )

    sure = margin_ends(trials, base_of(trials, choice=BaselineChoice(score=1.0)), 0.85)
    both, apart = margin_ends(trials, base_of(trials, paired), 0.85), margin_ends(trials, base_of(trials, others), 0.85)

    assert sure is not None
    assert both is not None
    assert apart is not None
    assert sure[0] == pytest.approx(0.831 - 0.85, abs=1e-3)  # Clopper and Pearson's low end of 38 of 40
    assert max(both[0], apart[0]) < 0.1
    assert margin_ends(trials[:1], base_of(trials, paired), 0.85) is None


@pytest.mark.parametrize(("text", "wanted"), [("95%", BaselineChoice(0.95)), ("0.9", BaselineChoice(0.9)), (None, None),
                                              ("500,1k", BaselineChoice(lengths=(500, 1000)))])  # fmt: skip
def test_a_base_is_a_score_or_lengths(text: str | None, wanted: BaselineChoice | None) -> None:
    assert parse_relative_to(text) == wanted


@pytest.mark.parametrize("text", ["0", "-1", "120%", "", "best", "1k,x"])
def test_a_wrong_base_is_one_line_that_names_the_option(text: str) -> None:
    with pytest.raises(InputError, match=r"^--relative-to: "):
        parse_relative_to(text)


def test_a_base_of_nothing_has_nothing_to_keep(trials_of: TrialsOf) -> None:
    nothing = steady(trials_of, {1000: 0.0, 2000: 0.0})
    assert relative_length(nothing, base_of(nothing)).status == "none"
    unknown = trials_of([(1000, 50.0, 0, None)])
    found = relative_length(unknown, base_of(unknown))
    assert (found.status, found.text) == ("undetermined", "score >= 85 % of the base: undetermined")


def test_few_samples_say_what_they_are(trials_of: TrialsOf) -> None:
    def words(samples: int, longest: float = 1.0) -> str:
        rows = [
            (length, depth, i, float(length < 4000 or i >= samples * (1 - longest)))
            for length in (1000, 4000) for depth in (0.0, 50.0, 100.0) for i in range(samples)
        ]  # fmt: skip
        return absolute_length(length_scores(trials_of(rows))).words

    assert words(1) == "4k in the one sample tested; no statement about the model"
    assert words(3) == "4k in the 3 samples tested; lower bound none (needs at least 24 samples at bar 85.6)"
    assert words(12, 0.0) == (
        "1k in the 12 samples tested; lower bound none (needs at least 24 samples at bar 85.6), up to 1k possible"
    )
    assert words(24) == ">= 4k (longest tested)"
    assert words(24, 0.0) == "1k, 95 % interval 1k"


def test_five_hits_of_five_do_not_pass_85_6(trials_of: TrialsOf) -> None:
    found = absolute_length(length_scores(trials_of((1000, 50.0, i, 1.0) for i in range(5))))

    assert (found.status, found.point, found.conservative, found.needed) == ("undetermined", 1000, None, 24)


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
