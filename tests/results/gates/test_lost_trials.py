"""What a run could not answer is said first in a gate's line, and what does not fit its window fails at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.core.record import UNSCORED
from needlework.pytest_plugin.reports import gate_case
from needlework.results.gates.decide import gate_lines, judge_gate, markdown_rows
from needlework.results.gates.gate import Baseline, parse_gate
from needlework.results.records.samples import common_window, refused_below_window, windows_of
from tests.results.gates.gate_records import record, trials

BEFORE = {"models": {"m": {"window": 8192}}}


def baseline(records, manifest=BEFORE):
    index = {(("", r.task, r.needle), r.length, r.depth, r.repeat, r.seed): r for r in records}
    return Baseline(Path("before"), index, by_model=False, manifest=manifest)


def two_lengths(outcome, samples=12):
    """Everything found at 500 and at 1000 tokens; at 2000 the outcome alone."""
    found = [record(length=length, repeat=i) for length in (500, 1000) for i in range(samples)]
    return [*found, *(record(outcome=outcome, length=2000, repeat=i) for i in range(samples))]


def told(text, records, before=None, windows=None):
    verdicts = judge_gate(parse_gate(text), records, before, windows=windows or {})
    return verdicts, [line for line, _ in gate_lines(verdicts, 0)]


def test_a_window_smaller_than_the_baselines_fails_at_once_without_an_interval():
    found, lines = told("drop <= 0.1", two_lengths("skipped"), baseline(two_lengths("found")), {"m": 1024})

    assert lines[1] == (
        "  FAIL  all  this run cannot answer 12 of 36 trials that the baseline scored: all 12 at 2k (12 skipped);"
        " window 1024, the baseline had 8192; with these as misses 0.333  n 24 of 12 samples"
    )
    assert (found[0].low, found[0].high, found[0].more) == (None, None, None)


@pytest.mark.parametrize("text", ["score >= 0.1", "lower_bound >= 0.1", "score <= 0.99", "not worse", "drop <= 0.9"])
def test_what_does_not_fit_the_window_fails_every_gate_that_asks_for_it(text):
    now, before = two_lengths("skipped"), baseline(two_lengths("found"))

    assert told(text, now, before)[0][0].state == "fail"
    assert told(f"{text} [length<=1k]", now, before)[0][0].losses is None
    assert told("score >= 0.1 [length<=1k]", now)[0][0].state == "pass"


def test_a_gate_without_a_baseline_says_what_its_scope_asked_in_vain():
    _, lines = told("score >= 0.5", two_lengths("skipped"), windows={"m": 1024})

    assert lines[1] == (
        "  FAIL  all  this run cannot answer 12 of 36 trials: all 12 at 2k (12 skipped); window 1024;"
        " counted against it: 0.667  n 24 of 12 samples"
    )


@pytest.mark.parametrize("outcome", [each for each in UNSCORED if each != "skipped"])
def test_other_losses_are_said_first_too_and_keep_their_interval(outcome):
    (verdict,), lines = told("drop <= 0.3", two_lengths(outcome), baseline(two_lengths("found")))

    assert verdict.state == "inconclusive"
    assert (
        f"all  this run cannot answer 12 of 36 trials that the baseline scored: all 12 at 2k (12 {outcome});"
        in lines[1]
    )
    assert "with these as misses 0.333  95 % interval" in lines[1]
    assert "counted against it" not in lines[1]


def test_rows_without_losses_stay_aligned():
    _, lines = told("score >= 0.5 per length", two_lengths("skipped"), windows={"m": 1024})

    assert lines[1:3] == [
        "  pass  length 500   1.000  95 % interval 0.735..1.000  n 12",
        "  pass  length 1000  1.000  95 % interval 0.735..1.000  n 12",
    ]
    assert "FAIL  length 2000  this run cannot answer 12 of 12 trials" in lines[3]


def test_empty_answers_and_refusals_are_counted_where_the_trials_are():
    found, lines = told("score >= 0.5", [*trials(40), *(record(outcome="empty", repeat=50 + i) for i in range(9))])

    assert "n 49 (9 empty)" in lines[1]
    assert "n 49 (9 empty)".removeprefix("n ") in list(markdown_rows(found))[-1]
    assert dict(gate_case(found[0])[1].user_properties)["n"] == 49


def test_a_server_that_refuses_what_fits_is_no_window():
    asked = {"timing": {"latency_s": 0.1}}
    refused = record(outcome="skipped", **asked)

    assert refused_below_window(refused, {"m": 4096})
    assert not refused_below_window(refused, {"m": 999}), "longer than the window"
    assert not refused_below_window(refused, {}), "a window that nobody knows"
    assert not refused_below_window(record(outcome="skipped", timing={"latency_s": None}), {"m": 4096}), "never asked"
    assert not refused_below_window(record(**asked), {"m": 4096})


def test_windows_are_read_from_what_a_manifest_has():
    assert windows_of({"models": {"a": {"window": 8192}, "b": {"window": None}, "c": 5}}) == {"a": 8192}
    assert windows_of({}) == windows_of({"models": None}) == {}
    assert common_window({"m": 8, "k": 8}, [record(), record(model="k")]) == 8
    assert common_window({"m": 8, "k": 9}, [record(), record(model="k")]) is None
