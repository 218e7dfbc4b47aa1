"""`not worse`: passes unless the run is shown to be worse than its baseline, and says which drop it could have seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.results.gates.decide import gate_lines, judge_gate
from needlework.results.gates.gate import Baseline, parse_gate
from needlework.results.statistics.comparison.comparison import compare
from needlework.results.statistics.intervals import detectable_drop, drop_power
from tests.results.changed import changed
from tests.results.gates.gate_records import record, trials


def baseline(records):
    index = {(("", r.task, r.needle), r.length, r.depth, r.repeat, r.seed): r for r in records}
    return Baseline(Path("before"), index, by_model=False)


def judged(text, now, before):
    (verdict,) = judge_gate(parse_gate(text), now, baseline(before))
    return verdict


@pytest.mark.parametrize("text", ["not worse", "not_worse", " not   worse ", "not worse than 0", "not worse than 0 %"])
def test_it_is_written_in_words(text):
    assert (parse_gate(text).metric, parse_gate(text).limit, parse_gate(text).grain) == ("not worse", 0.0, None)


def test_it_takes_a_margin_a_scope_and_a_grain():
    gate = parse_gate("not worse than 2% [length<=4k, task=niah] per length")

    assert (gate.metric, gate.limit, len(gate.scope), gate.grain) == ("not worse", 0.02, 2, "length")


@pytest.mark.parametrize("text", ["not worse than", "not worse than much", "not worse <= 0.1", "not better", "worse"])
def test_other_words_are_refused(text):
    with pytest.raises(InputError, match=r"^--gate: "):
        parse_gate(text)


def test_it_passes_unless_the_run_is_shown_worse():
    assert judged("not worse", trials(40), trials(40)).state == "pass"
    assert judged("not worse", trials(38, 2), trials(40)).state == "pass"
    assert judged("not worse", trials(25, 15), trials(40)).state == "fail"
    assert judged("not worse", trials(40), trials(25, 15)).state == "pass"


def test_a_margin_allows_a_drop_of_so_much():
    now, before = trials(176, 24), trials(200)

    assert judged("not worse", now, before).state == "fail"
    assert judged("not worse than 0.05", now, before).state == "fail"
    assert judged("not worse than 0.1", now, before).state == "pass"


def test_with_too_few_samples_to_show_any_drop_it_is_inconclusive():
    """A gate that could not fail does not pass."""
    few = judged("not worse", trials(0, 4), trials(4))

    assert (few.state, few.value, few.more) == ("inconclusive", 1.0, 2)
    assert few.note == "4 samples can show no drop"
    assert judged("not worse", trials(6), trials(6)).state == "pass"


def test_what_it_can_see_is_told_with_it():
    verdict = judged("not worse", trials(36), trials(36))
    line = [line for line, _ in gate_lines([verdict], 0)][1]

    assert verdict.sees == detectable_drop(36, base=1.0)
    assert line.endswith("n 36  not shown worse; 36 samples show a drop of 21.1 points or more (in 80 of 100 runs)")


def test_a_margin_makes_smaller_drops_harder_to_see():
    sees = [detectable_drop(60, base=0.95, beyond=margin) for margin in (0.0, 0.02, 0.1)]

    assert sees == sorted(sees)
    assert sees[2] > 0.1
    assert drop_power(60, sees[2], sees[2] + 0.05, 0.1) >= 0.3


def test_a_run_without_a_pair_fails():
    assert judged("not worse", trials(9), [record(length=9000)]).state == "fail"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=5, max_size=30))
def test_it_fails_exactly_where_compare_says_worse(pairs):
    before = [record(float(a), repeat=i) for i, (a, _) in enumerate(pairs)]
    now = [record(float(b), repeat=i) for i, (_, b) in enumerate(pairs)]
    (family,) = compare(before, now).tasks

    assert (judged("not worse", now, before).state == "fail") == (family.verdict == "worse")


def test_all_groups_share_the_five_percent():
    """One group alone is shown worse by 6 losses of 40; as one of four it is not (p 0.031 against 0.0125)."""
    before = [each for length in (1000, 2000, 4000, 8000) for each in trials(40, length=length)]
    now = trials(34, 6) + before[40:]
    alone, grouped = (
        judge_gate(parse_gate(text), now, baseline(before))
        for text in ("not worse [length=1000]", "not worse per length")
    )

    assert [verdict.state for verdict in alone] == ["fail"]
    assert [verdict.state for verdict in grouped] == ["pass"] * 4
    assert grouped[1].sees > detectable_drop(40, base=1.0)


def test_a_baseline_of_two_tests_has_the_trials_of_either():
    before = [changed(record(repeat=0), task=f"niah@test_{name}") for name in "ab"]

    assert baseline(before).has("m", Cell("niah", 1000, 50.0, "code", 0, "m"), 0)
    assert not baseline(before).has("m", Cell("niah", 1000, 50.0, "code", 1, "m"), 0)
