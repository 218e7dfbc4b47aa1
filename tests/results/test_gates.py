"""Gates: what they ask, of which cells, and what they answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haystack_fixtures.errors import InputError
from results.gates import judge_gate, parse_gate


def record(score=1.0, *, length=1000, depth=50.0, task="niah", outcome=None, **more):
    outcome = outcome or ("found" if score == 1 else "wrong")
    return {
        "model": "m", "task": task, "needle": "code", "language": "en", "length": length, "depth": depth, "repeat": 0,
        "outcome": outcome, "score": score, **more,
    }  # fmt: skip


def verdicts(text, records):
    return [(verdict.group, verdict.passed) for verdict in judge_gate(parse_gate(text), records)]


def test_a_mean_over_everything():
    records = [record(1.0)] * 9 + [record(0.0)]

    assert verdicts("score >= 0.9", records) == [("all", True)]
    assert verdicts("score > 90%", records) == [("all", False)]
    assert verdicts("score>=0.95", records) == [("all", False)]


def test_the_lower_bound_wants_more_trials():
    assert verdicts("lower_bound >= 0.9", [record()] * 10) == [("all", False)]
    assert verdicts("lower_bound >= 0.9", [record()] * 40) == [("all", True)]


def test_trials_without_a_score_count_against_a_gate():
    cut_off = [record(None, outcome="censored"), record(None, outcome="error")]

    assert verdicts("score >= 0.9", [record()] * 8 + cut_off) == [("all", False)]
    assert verdicts("score <= 0.1", [record(0.0)] * 8 + cut_off) == [("all", False)]
    assert verdicts("score >= 0.9", [record()] * 8 + [record(None, outcome="skipped")]) == [("all", True)]


def test_a_scope_chooses_cells():
    records = [record(1.0, length=1000), record(0.0, length=64_000), record(0.0, depth=10.0)]

    assert verdicts("score >= 1 [length<=32k, depth=40..60]", records) == [("all", True)]
    assert verdicts("score >= 1 [length=64k]", records) == [("all", False)]
    assert verdicts("score >= 1 [task=niah, needle=code, language=en, model=m, depth=50, length=1k]", records) == [
        ("all", True)
    ]


def test_a_grain_asks_every_group():
    records = [record(1.0, length=1000), record(0.0, length=2000), record(1.0, length=2000, depth=0.0)]

    assert verdicts("score >= 0.9 per length", records) == [("length 1000", True), ("length 2000", False)]
    assert verdicts("score >= 0.9 [length=2k] per depth", records) == [("depth 0", True), ("depth 50", False)]
    assert len(verdicts("score >= 0.9 per cell", records)) == 3


def test_nothing_scored_never_passes():
    assert verdicts("score >= 0", [record(None, outcome="error")]) == [("all", False)]
    assert verdicts("score >= 0 [length=9k]", [record()]) == [("no cell in scope", False)]


def test_cells_without_a_depth_are_outside_a_depth_scope():
    assert verdicts("score >= 0 [depth>=0]", [record(1.0, depth=None)]) == [("no cell in scope", False)]


def test_the_line_tells_value_n_interval_and_what_is_missing():
    (verdict,) = judge_gate(parse_gate("score >= 0.9"), [record(0.0), record(None, outcome="error")])

    assert verdict.line.startswith(
        "FAIL score >= 0.9: all: 0.000 (n 1, 95 % interval 0.00..0.79, 1 error counted against"
    )


@pytest.mark.parametrize(
    "text",
    ["", "score", "score = 0.9", "accuracy >= 0.9", "score >= 90", "score >= -1", "score >= 1.2.3",
     "score >= 0.9 per planet",
     "score >= 0.9 [size<=3]", "score >= 0.9 [task<=niah]", "score >= 0.9 [length<=many]",
     "score >= 0.9 [depth=a..b]",
     "score >= 0.9 [length<=1k..2k]", "score >= 0.9 per length per depth"],
)  # fmt: skip
def test_a_wrong_gate_is_one_line_that_names_the_option(text):
    with pytest.raises(InputError) as caught:
        parse_gate(text)

    assert str(caught.value).startswith("--gate")
    assert "\n" not in str(caught.value)


@given(st.text())
def test_no_text_makes_the_parser_stumble(text):
    try:
        parse_gate(text)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right, a traceback is not


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_a_score_gate_is_the_mean(scores, floor):
    from math import fsum

    records = [record(score, outcome="partial") for score in scores]
    (verdict,) = judge_gate(parse_gate(f"score >= {floor:.6f}"), records)

    assert verdict.passed == (fsum(sorted(scores)) / len(scores) >= float(f"{floor:.6f}"))
