"""Verdicts: pass, fail or inconclusive, and how many trials would decide."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from needlework.core.record import SCORED, UNSCORED
from needlework.results.gates.decide import judge_gate, judge_group
from needlework.results.gates.gate import Baseline, parse_gate
from needlework.results.statistics.paired import error_at, level_of
from tests.results.changed import changed
from tests.results.gates.gate_records import record, trials


def judged(text, records, baseline=None, look=1):
    (verdict,) = judge_gate(parse_gate(text), records, baseline, look)
    return verdict


def state(text, records):
    return judged(text, records).state


@pytest.mark.parametrize(
    ("text", "hits", "misses", "expected"),
    [
        ("score >= 0.9", 60, 0, "pass"),
        ("score >= 0.9", 10, 10, "fail"),
        ("score >= 0.9", 19, 1, "inconclusive"),
        ("score <= 0.1", 0, 60, "pass"),
        ("score <= 0.1", 10, 10, "fail"),
        ("score < 0.1", 1, 19, "inconclusive"),
        # 0.9 to the power of 36 is the first below 2.5 %: so rare are 36 hits of a model that scores 0.9.
        ("score >= 0.9", 35, 0, "inconclusive"),
        ("score >= 0.9", 36, 0, "pass"),
        ("score >= 0.9", 0, 1, "inconclusive"),
        ("score >= 0.9", 0, 2, "fail"),
        # `score` fails when it is shown to be too low; `lower_bound` when no trials at this score would prove it.
        ("score >= 0.9", 17, 3, "inconclusive"),
        ("lower_bound >= 0.9", 17, 3, "fail"),
        ("lower_bound >= 0.9", 19, 1, "inconclusive"),
        ("lower_bound >= 0.9", 36, 0, "pass"),
        ("score >= 0 [length=9k]", 1, 0, "fail"),
    ],
)
def test_a_gate_passes_fails_or_leaves_it_open(text, hits, misses, expected):
    assert state(text, trials(hits, misses)) == expected


def test_a_further_look_may_err_half_as_often_and_an_open_gate_says_how_many_it_takes():
    """42 hits have a chance of 0.9 to the power of 42, 1.2 %."""
    assert [level_of(look) for look in (1, 2, 3)] == [95.0, 97.5, 98.75]
    assert sum(error_at(look) for look in range(1, 200)) <= 0.05
    assert judged("score >= 0.9", trials(25)).more == 42 - 25
    assert [judged("score >= 0.9", trials(hits), look=2).state for hits in (41, 42)] == ["inconclusive", "pass"]
    assert judged("lower_bound >= 0.9", trials(19, 1)).value == pytest.approx(stats.beta.ppf(0.025, 19, 2))
    at_the_limit = judged("score >= 0.9", trials(9, 1))
    assert (at_the_limit.state, at_the_limit.value, at_the_limit.more) == ("inconclusive", 0.9, None)


@pytest.mark.parametrize("outcome", ["error", "skipped"])
def test_nothing_scored_fails(outcome):
    assert state("score >= 0", [record(None, outcome=outcome)]) == "fail"


FLOORS = ("score >= 0.9", "score > 0.9", "lower_bound >= 0.9", "lower_bound > 0.9")
CEILINGS = ("score <= 0.1", "score < 0.1")


@pytest.mark.parametrize("text", [*FLOORS, *CEILINGS])
@pytest.mark.parametrize("outcome", [*SCORED, *UNSCORED])
def test_each_outcome_alone_keeps_or_breaks_a_pass(outcome, text):
    """40 trials that pass, and 10 of one outcome. Without a score they count as what the gate likes least.

    What does not fit the window is a loss, and told apart.
    """
    passing = trials(40) if text in FLOORS else trials(0, 40)
    score = {"found": 1.0, "partial": 0.5}.get(outcome, 0.0)
    verdict = judged(text, [*passing, *(record(score, outcome=outcome, repeat=90 + i) for i in range(10))])
    harmless = outcome in SCORED and score == (1.0 if text in FLOORS else 0.0)

    assert state(text, passing) == "pass"
    assert (verdict.state == "pass") is harmless
    assert verdict.n == (50 if outcome in SCORED else 40)
    assert verdict.against == ({outcome: 10} if outcome in UNSCORED and outcome != "skipped" else {})
    assert (verdict.losses is not None) is (outcome == "skipped")


@pytest.mark.parametrize("text", ["drop <= 0.05", "drop < 0.05"])
@pytest.mark.parametrize("outcome", [*SCORED, *UNSCORED])
def test_each_outcome_alone_is_a_drop_or_none(outcome, text):
    """All 200 were found before. A trial that no longer fits the window is lost, like any other without a score."""
    score = {"found": 1.0, "partial": 0.5}.get(outcome, 0.0)
    now = [record(score, outcome=outcome, repeat=i) if i < 40 else record(repeat=i) for i in range(200)]
    verdict = judged(text, now, baseline(trials(200)))

    assert verdict.state == ("pass" if outcome == "found" else "fail")
    assert verdict.value == pytest.approx(0.2 * (1 - score))
    assert verdict.against == ({outcome: 40} if outcome in UNSCORED else {})


def test_many_cells_of_one_needle_and_text_are_told():
    one = judged("score >= 0.5", [record(depth=float(depth)) for depth in range(40)])

    assert (one.state, one.low, one.note) == ("inconclusive", None, "one sample: says nothing of other needles")
    assert judged("score >= 0.5", in_samples([1.0] * 40, 4)).note == "from 4 samples"
    assert judged("score >= 0.5", trials(40)).note == ""


def test_partial_credit_is_judged_by_its_interval():
    """As if it were 0/1: nothing is known of how scores vary that were not seen."""
    around = [record(0.9 + (0.04 if i % 2 else -0.04), repeat=i) for i in range(60)]
    verdict = judged("score >= 0.78", around)

    assert verdict.state == "pass"
    assert 0.78 < verdict.low < verdict.value < verdict.high < 0.97
    assert state("score >= 0.99", around) == "fail"
    assert state("score >= 0.91", around) == "inconclusive"


def test_answers_of_one_sample_are_not_counted_as_independent():
    """40 samples of one depth show more than 4 samples of ten depths that agree within each sample."""
    apart = trials(36, 4)
    together = [record(1.0 if repeat else 0.0, repeat=repeat, depth=float(d)) for repeat in range(10) for d in range(4)]

    assert state("score >= 0.75", apart) == "pass"
    assert judged("score >= 0.75", together).value == 0.9
    assert state("score >= 0.75", together) == "inconclusive"


def test_all_trials_right_from_few_needles_say_how_many_needles_would_do():
    """More depths of the same needles do not help: 36 needles pass 0.9 at a first look, however often each is asked."""
    ten = in_samples([1.0] * 110, 10)
    verdict = judged("score >= 0.9", ten)

    assert (verdict.state, verdict.samples, verdict.more) == ("inconclusive", 10, 32)
    assert verdict.more_trials == 352
    assert verdict.low == pytest.approx(0.692, abs=1e-3)
    assert [state("score >= 0.9", in_samples([1.0] * 5 * count, count)) for count in (36, 37)] == ["pass", "pass"]
    assert state("score >= 0.9", in_samples([1.0] * 5 * 35, 35)) == "inconclusive"


@pytest.mark.parametrize(
    ("text", "records"),
    [("score >= 0.9", trials(25)), ("score >= 0.9", trials(19, 1)), ("score >= 0.9", trials(8, 2)),
     ("score <= 0.2", trials(1, 9)), ("lower_bound >= 0.6", trials(7, 3)), ("score > 0.5", trials(4, 2))],
)  # fmt: skip
def test_as_many_further_trials_as_were_told_decide(text, records):
    """The next look, at as many trials more of the same score. Whole repeats of them, so a few more than told."""
    more = judged(text, records).more
    copies = 1 + -(-more // len(records))
    same = [changed(each, repeat=each.repeat + 1000 * copy) for copy in range(copies) for each in records]
    fewer = same[: -2 * len(records)] if copies > 3 else records

    assert judged(text, same, look=2).state != "inconclusive"
    assert judged(text, fewer, look=2).state == "inconclusive"


# -- against a baseline ------------------------------------------------------------------------------------------


def baseline(records):
    index = {(("", r.task, r.needle), r.length, r.depth, r.repeat, r.seed): r for r in records}
    return Baseline(Path("before"), index, by_model=False)


@pytest.mark.parametrize(
    ("text", "before", "now", "expected", "drop"),
    [
        ("drop <= 0.05", trials(200), trials(200), "pass", 0.0),
        ("drop <= 0.05", trials(200), trials(160, 40), "fail", 0.2),
        ("drop <= 0.05", trials(200), trials(20), "inconclusive", 0.0),
        ("drop <= 0.02", trials(30, 30), trials(60), "pass", -0.5),
        ("drop <= 0.5", [record(length=9000)], trials(3), "fail", None),
    ],
)
def test_a_drop_is_judged_by_the_interval_of_the_paired_difference(text, before, now, expected, drop):
    verdict = judged(text, now, baseline(before))
    assert verdict.state == expected
    assert verdict.value == (None if drop is None else pytest.approx(drop))


def test_a_drop_counts_what_this_run_lost_and_leaves_out_what_the_baseline_lacks():
    before = baseline([*trials(100), record(None, repeat=100)])
    lost = [record(outcome=outcome, repeat=repeat) for repeat, outcome in enumerate(["error", "censored", "skipped"])]
    now = lost + trials(100)[3:] + [record(repeat=100), record(repeat=101)]
    verdict = judged("drop <= 0.02", now, before)

    assert verdict.value == pytest.approx(0.03)
    assert verdict.n == 97
    assert verdict.against == {"censored": 1, "skipped": 1, "error": 1}
    assert verdict.note == "2 not scored in the baseline"


def test_one_sample_says_nothing_of_others():
    now = [record(depth=float(d)) for d in range(5)]
    verdict = judged("drop <= 0.5", now, baseline(now))

    assert (verdict.state, verdict.value, verdict.low) == ("inconclusive", 0.0, None)
    assert verdict.more == 6


@pytest.mark.parametrize(
    ("text", "pairs"),
    [("drop <= 0.05", [(1.0, 1.0)] * 20), ("drop <= 0.1", [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), *[(1.0, 1.0)] * 22])],
)
def test_as_many_further_pairs_as_were_told_decide(text, pairs):
    def repeated(count):
        scores = [pairs[repeat % len(pairs)] for repeat in range(count)]
        before = [record(first, repeat=repeat) for repeat, (first, _) in enumerate(scores)]
        return [record(second, repeat=repeat) for repeat, (_, second) in enumerate(scores)], baseline(before)

    size = len(pairs)
    more = judged(text, *repeated(size)).more
    whole = size * ceil(more / size)
    assert judged(text, *repeated(size + whole), look=2).state == "pass"
    assert judged(text, *repeated(size * (more // size)), look=2).state == "inconclusive"


# -- what always holds -------------------------------------------------------------------------------------------

SCORES = st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0, 1), min_size=1, max_size=14)
LIMITS = st.floats(0.05, 0.95).map(lambda limit: round(limit, 3))
METRICS = st.sampled_from(["score", "lower_bound"])


def in_samples(scores, samples):
    return [record(score, repeat=i % samples, depth=i / 2) for i, score in enumerate(scores)]


@given(SCORES, st.integers(1, 14), LIMITS, METRICS, st.data())
def test_more_hits_never_turn_a_pass_into_a_fail(scores, samples, limit, metric, data):
    text = f"{metric} >= {limit}"
    better = [1.0 if data.draw(st.booleans()) else score for score in scores]

    if state(text, in_samples(scores, samples)) == "pass":
        assert state(text, in_samples(better, samples)) != "fail"
    if state(text, in_samples(better, samples)) == "fail":
        assert state(text, in_samples(scores, samples)) != "pass"


@given(SCORES, st.integers(1, 14), LIMITS, METRICS, st.sampled_from([">=", "<="]), st.data())
def test_a_lost_trial_never_turns_a_fail_into_a_pass(scores, samples, limit, metric, compare, data):
    text = f"{metric if compare == '>=' else 'score'} {compare} {limit}"
    whole = in_samples(scores, samples)
    outcomes = st.sampled_from(["keep", "error", "invalid", "censored", "unclear"])
    lossy = [r if (o := data.draw(outcomes)) == "keep" else changed(r, outcome=o, score=None) for r in whole]

    if state(text, whole) == "fail":
        assert state(text, lossy) != "pass"


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 20), LIMITS, METRICS)
def test_a_lost_hit_never_helps_independent_trials(hits, misses, lost, limit, metric):
    text = f"{metric} >= {limit}"
    order = ["fail", "inconclusive", "pass"]
    whole = trials(hits + lost, misses)
    lossy = [changed(r, outcome="error", score=None) for r in whole[:lost]] + whole[lost:]

    if hits + misses:
        assert order.index(state(text, lossy)) <= order.index(state(text, whole))


@given(st.integers(0, 50), st.integers(0, 50), LIMITS, st.floats(0, 0.05))
def test_a_higher_floor_is_never_easier(hits, misses, limit, raised):
    order = ["fail", "inconclusive", "pass"]
    records = trials(hits + 1, misses)
    states = [judge_group(replace(parse_gate("score >= 0.5"), limit=at), "all", records).state for at in
              (limit, limit + raised)]  # fmt: skip

    assert order.index(states[1]) <= order.index(states[0])


@pytest.mark.parametrize(("limit", "first"), [(0.9, 1), (0.9, 25), (0.8, 5), (0.5, 5)])
def test_further_looks_keep_wrong_passes_below_5_percent(limit, first):
    """Models exactly at the limit, topped up by at most 300 trials: one wrong pass in 20, however many looks."""
    gate, rng = parse_gate(f"score >= {limit}"), np.random.default_rng(3)
    runs, seen = 100, {"pass": 0, "fail": 0, "inconclusive": 0}
    for _ in range(runs):
        scores, look = list(rng.random(first) < limit), 1
        verdict = judge_group(gate, "all", _records(scores), None, look)
        while verdict.state == "inconclusive" and len(scores) < first + 300:
            wanted = min(verdict.more or len(scores) // 2 + 1, first + 300 - len(scores))
            scores += list(rng.random(wanted) < limit)
            look += 1
            verdict = judge_group(gate, "all", _records(scores), None, look)
        seen[verdict.state] += 1

    # A binomial test at 1 %: more wrong verdicts than a share of 5 % brings in all but one of a hundred tries.
    most = stats.binom.ppf(0.99, runs, 0.05)
    assert seen["pass"] <= most
    assert seen["fail"] <= most


def _records(scores):
    return trials(sum(bool(score) for score in scores), sum(not score for score in scores))
