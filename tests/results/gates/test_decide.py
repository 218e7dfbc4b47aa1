"""Verdicts: pass, fail or inconclusive, and how many trials would decide."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats

from needlework.core.record import SCORED, UNSCORED
from needlework.results.gates.decide import judge_gate, judge_group
from needlework.results.gates.gate import parse_gate
from needlework.results.statistics.comparison.comparison import compare
from needlework.results.statistics.intervals import detectable_drop, drop_power
from needlework.results.statistics.paired import error_at, level_of
from tests.results.builders import changed
from tests.results.gates.gate_records import baseline, in_samples, judged, lines, record, trials


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
def test_a_gate_passes_fails_or_is_inconclusive(text, hits, misses, expected):
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


@pytest.mark.parametrize("text", ["score >= 0.9", "lower_bound > 0.9", "score <= 0.1", "score < 0.1"])
@pytest.mark.parametrize("outcome", [*SCORED, *UNSCORED])
def test_each_outcome_alone_keeps_or_breaks_a_pass(outcome, text):
    """40 trials that pass, and 10 of one outcome. Without a score they count as the worst one for the gate. A trial
    that does not fit the window is a loss."""
    floor = ">" in text
    passing = trials(40) if floor else trials(0, 40)
    score = {"found": 1.0, "partial": 0.5}.get(outcome, 0.0)
    verdict = judged(text, [*passing, *(record(score, outcome=outcome, repeat=90 + i) for i in range(10))])

    assert (verdict.state == "pass") is (outcome in SCORED and score == float(floor))
    assert verdict.n == (50 if outcome in SCORED else 40)
    assert verdict.against == ({outcome: 10} if outcome in UNSCORED and outcome != "skipped" else {})
    assert (verdict.losses is not None) is (outcome == "skipped")
    assert outcome in SCORED or state("score >= 0", [record(outcome=outcome)]) == "fail", "nothing is scored"


def test_samples_decide_and_not_trials():
    """More depths of the same needles do not help: 36 needles pass 0.9 at a first look, however often each is asked."""
    one = judged("score >= 0.5", [record(depth=float(depth)) for depth in range(40)])
    ten = judged("score >= 0.9", in_samples([1.0] * 110, 10))
    together = [record(float(repeat > 0), repeat=repeat, depth=float(d)) for repeat in range(10) for d in range(4)]

    assert (one.state, one.low, one.note) == ("inconclusive", None, "one sample: says nothing of other needles")
    notes = [judged("score >= 0.5", records).note for records in (in_samples([1.0] * 40, 4), trials(40))]
    assert notes == ["from 4 samples", ""]
    assert (ten.state, ten.samples, ten.more, ten.more_trials) == ("inconclusive", 10, 32, 352)
    assert ten.low == pytest.approx(0.692, abs=1e-3)
    assert [state("score >= 0.9", in_samples([1.0] * 5 * n, n)) for n in (35, 36)] == ["inconclusive", "pass"]
    assert [state("score >= 0.75", records) for records in (trials(36, 4), together)] == ["pass", "inconclusive"]


def test_partial_credit_is_judged_by_its_interval():
    """As if it were 0/1: nothing is known of how unseen scores vary."""
    around = [record(0.9 + (0.04 if i % 2 else -0.04), repeat=i) for i in range(60)]
    verdict = judged("score >= 0.78", around)

    assert 0.78 < verdict.low < verdict.value < verdict.high < 0.97
    assert [state(f"score >= {limit}", around) for limit in (0.78, 0.91, 0.99)] == ["pass", "inconclusive", "fail"]


@pytest.mark.parametrize(
    ("text", "records"),
    [("score >= 0.9", trials(25)), ("score >= 0.9", trials(8, 2)), ("score <= 0.2", trials(1, 9)),
     ("lower_bound >= 0.6", trials(7, 3)), ("score > 0.5", trials(4, 2))],
)  # fmt: skip
def test_as_many_further_trials_as_a_verdict_names_decide(text, records):
    """The next look, at as many trials more of the same score: whole repeats of them, so a few more."""
    more = judged(text, records).more
    copies = 1 + -(-more // len(records))
    same = [changed(each, repeat=each.repeat + 1000 * copy) for copy in range(copies) for each in records]
    fewer = same[: -2 * len(records)] if copies > 3 else records

    assert judged(text, same, look=2).state != "inconclusive"
    assert judged(text, fewer, look=2).state == "inconclusive"


@pytest.mark.parametrize("pairs", [[(1.0, 1.0)] * 20, [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), *[(1.0, 1.0)] * 22]])
def test_as_many_further_pairs_as_a_verdict_names_decide(pairs):
    def judge(count, look=1):
        scores = [pairs[repeat % size] for repeat in range(count)]
        before, now = ([record(score[at], repeat=i) for i, score in enumerate(scores)] for at in (0, 1))
        return judged("drop <= 0.1", now, before, look)

    size = len(pairs)
    more = judge(size).more
    assert judge(size + size * -(-more // size), 2).state == "pass"
    assert judge(size * (more // size), 2).state == "inconclusive"


@pytest.mark.parametrize(
    ("text", "before", "now", "expected", "drop"),
    [
        ("drop <= 0.05", trials(200), trials(200), "pass", 0.0),
        ("drop <= 0.05", trials(200), trials(160, 40), "fail", 0.2),
        ("drop <= 0.05", trials(200), trials(20), "inconclusive", 0.0),
        ("drop <= 0.02", trials(30, 30), trials(60), "pass", -0.5),
        ("drop <= 0.5", [record(length=9000)], trials(3), "fail", None),
        # Passes unless the run is shown worse.
        ("not worse", trials(40), trials(38, 2), "pass", 0.05),
        ("not worse", trials(40), trials(25, 15), "fail", 0.375),
        ("not worse", trials(25, 15), trials(40), "pass", -0.375),
        ("not worse", trials(200), trials(176, 24), "fail", 0.12),
        ("not worse than 0.05", trials(200), trials(176, 24), "fail", 0.12),
        ("not worse than 0.1", trials(200), trials(176, 24), "pass", 0.12),
        ("not worse", [record(length=9000)], trials(9), "fail", None),
        # A gate that could not fail does not pass.
        ("not worse", trials(4), trials(0, 4), "inconclusive", 1.0),
        ("not worse", trials(6), trials(6), "pass", 0.0),
    ],
)
def test_a_paired_gate_is_judged_by_the_differences_to_the_baseline(text, before, now, expected, drop):
    verdict = judged(text, now, before)

    assert verdict.state == expected
    assert verdict.value == (None if drop is None else pytest.approx(drop))


def test_a_drop_counts_losses_of_this_run_and_leaves_out_trials_that_the_baseline_lacks():
    lost = [record(outcome=outcome, repeat=repeat) for repeat, outcome in enumerate(["error", "censored", "skipped"])]
    now = lost + trials(100)[3:] + [record(repeat=100), record(repeat=101)]
    verdict = judged("drop <= 0.02", now, [*trials(100), record(None, repeat=100)])

    assert (verdict.value, verdict.n) == (pytest.approx(0.03), 97)
    assert verdict.against == {"censored": 1, "skipped": 1, "error": 1}
    assert verdict.note == "2 not scored in the baseline"


def test_too_few_samples_are_named_with_the_number_that_would_do():
    one = [record(depth=float(d)) for d in range(5)]
    drop, few = judged("drop <= 0.5", one, one), judged("not worse", trials(0, 4), trials(4))

    assert (drop.state, drop.value, drop.low, drop.more) == ("inconclusive", 0.0, None, 6)
    assert (few.more, few.note) == (2, "4 samples can show no drop")


def test_a_gate_that_was_not_failed_says_which_drop_it_would_have_shown():
    verdict = judged("not worse", trials(36), trials(36))
    sees = [detectable_drop(60, base=0.95, beyond=margin) for margin in (0.0, 0.02, 0.1)]

    assert verdict.sees == detectable_drop(36, base=1.0)
    assert lines(verdict)[1].endswith(
        "n 36  not shown worse; 36 samples show a drop of 21.1 points or more (in 80 of 100 runs)"
    )
    assert sees == sorted(sees)
    assert drop_power(60, sees[2], sees[2] + 0.05, 0.1) >= 0.3


def test_all_groups_share_the_five_percent():
    """One group alone is shown worse by 6 losses of 40; as one of four it is not (p 0.031 against 0.0125)."""
    before = [each for length in (1000, 2000, 4000, 8000) for each in trials(40, length=length)]
    now = trials(34, 6) + before[40:]
    alone, grouped = (
        judge_gate(parse_gate(f"not worse {scope}"), now, baseline(before)) for scope in ("[length=1000]", "per length")
    )

    assert [verdict.state for verdict in (*alone, *grouped)] == ["fail", *["pass"] * 4]
    assert grouped[1].sees > detectable_drop(40, base=1.0)


def two_lengths(outcome, samples=12):
    """Everything found at 500 and at 1000 tokens; at 2000 the outcome alone."""
    found = [record(length=length, repeat=i) for length in (500, 1000) for i in range(samples)]
    return [*found, *(record(outcome=outcome, length=2000, repeat=i) for i in range(samples))]


LOST = "this run cannot answer 12 of 36 trials"


@pytest.mark.parametrize("text", ["score >= 0.1", "lower_bound >= 0.1", "score <= 0.99", "not worse", "drop <= 0.9"])
def test_trials_that_do_not_fit_the_window_fail_at_once_without_an_interval(text):
    before = baseline(two_lengths("found"), models={"m": {"window": 8192}})
    (verdict,) = judge_gate(parse_gate(text), two_lengths("skipped"), before, windows={"m": 1024})
    misses = (
        "with these as misses 0.333" if verdict.paired else f"counted against it: {'1.000' if '<' in text else 0.667}"
    )
    end = f"{misses}  n 24 of 12 samples"
    baselines = (" that the baseline scored", ", the baseline had 8192") if verdict.paired else ("", "")

    assert (verdict.state, verdict.low, verdict.high, verdict.more) == ("fail", None, None, None)
    assert lines(verdict)[1] == (
        f"  FAIL  all  {LOST}{baselines[0]}: all 12 at 2k (12 skipped); window 1024{baselines[1]}; {end}"
    )
    assert judge_gate(parse_gate(f"{text} [length<=1k]"), two_lengths("skipped"), before)[0].losses is None


@pytest.mark.parametrize("outcome", [each for each in UNSCORED if each != "skipped"])
def test_other_losses_come_first_too_and_keep_their_interval(outcome):
    verdict = judged("drop <= 0.3", two_lengths(outcome), two_lengths("found"))
    line = lines(verdict)[1]

    assert verdict.state == "inconclusive"
    assert f"all  {LOST} that the baseline scored: all 12 at 2k (12 {outcome}); " in line
    assert "with these as misses 0.333  95 % interval" in line
    assert "counted against it" not in line


# -- properties --------------------------------------------------------------------------------------------------

ORDER = ["fail", "inconclusive", "pass"]
SCORES = st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0, 1), min_size=1, max_size=14)
LIMITS = st.floats(0.05, 0.95).map(lambda limit: round(limit, 3))
METRICS = st.sampled_from(["score", "lower_bound"])


@given(SCORES, st.integers(1, 14), LIMITS, METRICS, st.data())
def test_more_hits_never_turn_a_pass_into_a_fail(scores, samples, limit, metric, data):
    better = [1.0 if data.draw(st.booleans()) else score for score in scores]
    states = [state(f"{metric} >= {limit}", in_samples(each, samples)) for each in (scores, better)]

    assert states != ["pass", "fail"]


@given(SCORES, st.integers(1, 14), LIMITS, METRICS, st.sampled_from([">=", "<="]), st.data())
def test_a_lost_trial_never_turns_a_fail_into_a_pass(scores, samples, limit, metric, compare, data):
    text = f"{metric if compare == '>=' else 'score'} {compare} {limit}"
    whole = in_samples(scores, samples)
    outcomes = st.sampled_from(["keep", "error", "invalid", "censored", "unclear"])
    lossy = [r if (o := data.draw(outcomes)) == "keep" else changed(r, outcome=o, score=None) for r in whole]

    assert (state(text, whole), state(text, lossy)) != ("fail", "pass")


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 20), LIMITS, METRICS)
def test_a_lost_hit_never_helps_independent_trials(hits, misses, lost, limit, metric):
    text, whole = f"{metric} >= {limit}", trials(hits + lost, misses)
    lossy = [changed(r, outcome="error", score=None) for r in whole[:lost]] + whole[lost:]

    if hits + misses:
        assert ORDER.index(state(text, lossy)) <= ORDER.index(state(text, whole))


@given(st.integers(0, 50), st.integers(0, 50), LIMITS, st.floats(0, 0.05))
def test_a_higher_floor_is_never_easier(hits, misses, limit, raised):
    gates = [replace(parse_gate("score >= 0.5"), limit=floor) for floor in (limit, limit + raised)]
    lower, higher = (judge_group(gate, "all", trials(hits + 1, misses)).state for gate in gates)

    assert ORDER.index(higher) <= ORDER.index(lower)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=5, max_size=30))
def test_not_worse_fails_exactly_where_compare_says_worse(pairs):
    before, now = ([record(float(pair[at]), repeat=i) for i, pair in enumerate(pairs)] for at in (0, 1))
    (family,) = compare(before, now).tasks

    assert (judged("not worse", now, before).state == "fail") == (family.whole.verdict == "worse")
