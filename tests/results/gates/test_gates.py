"""Gates: what may be written, and of which records they speak."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.gates.gate import groups_of, parse_gate
from tests.results.gates.gate_records import record


def groups(text, records):
    return {group: len(found) for group, found in groups_of(parse_gate(text), records).items()}


def test_a_gate_has_a_metric_a_limit_a_scope_and_a_grain():
    gate = parse_gate(" lower_bound >= 85 % [task=niah, length<=32k] per depth ")

    assert (gate.metric, gate.compare, gate.limit, len(gate.scope), gate.grain) == (
        "lower_bound",
        ">=",
        0.85,
        2,
        "depth",
    )
    assert parse_gate("drop<=0.02").metric == "drop"
    assert parse_gate("score > 90%").limit == 0.9


def test_a_scope_chooses_records():
    records = [record(length=1000), record(length=64_000), record(depth=10.0)]

    assert groups("score >= 0.9 [length<=32k, depth=40..60]", records) == {"all": 1}
    assert groups("score >= 0.9 [length=64k]", records) == {"all": 1}
    assert groups("score >= 0.9 [task=niah, needle=code, language=en, model=m, depth=50, length=1k]", records) == {
        "all": 1
    }
    assert groups("score >= 0.9 [length=9k]", records) == {}


@pytest.mark.parametrize(
    ("scope", "kept"),
    [("depth=40..60", [40, 50, 60]), ("depth>=40", [40, 50, 60, 60.001]), ("depth>40", [50, 60, 60.001]),
     ("depth<=60", [39.999, 40, 50, 60]), ("depth<60", [39.999, 40, 50]), ("depth=60", [60]), ("depth=50..50", [50])],
)  # fmt: skip
def test_both_ends_of_a_range_belong_to_it(scope, kept):
    depths = (39.999, 40.0, 50.0, 60.0, 60.001)
    found = groups_of(parse_gate(f"score >= 0.9 [{scope}]"), [record(depth=depth) for depth in depths])

    assert [each.depth for each in found["all"]] == kept


@pytest.mark.parametrize(
    ("scope", "kept"), [("length=1k..2k", [1000, 2000]), ("length<=1k", [999, 1000]), ("length>2k", [2001])]
)
def test_both_ends_of_a_range_of_lengths_belong_to_it(scope, kept):
    lengths = (999, 1000, 2000, 2001)
    found = groups_of(parse_gate(f"score >= 0.9 [{scope}]"), [record(length=length) for length in lengths])

    assert [each.length for each in found["all"]] == kept


def test_a_grain_makes_groups_shortest_first():
    records = [record(length=2000, depth=0.0), record(length=1000), record(length=2000)]

    assert groups("score >= 0.9", records) == {"all": 3}
    assert list(groups("score >= 0.9 per length", records).items()) == [("length 1000", 1), ("length 2000", 2)]
    assert groups("score >= 0.9 [length=2k] per depth", records) == {"depth 0": 1, "depth 50": 1}
    assert len(groups("score >= 0.9 per cell", records)) == 3


def test_cells_without_a_depth_are_outside_a_depth_scope():
    assert groups("score >= 0 [depth>=0]", [record(depth=None)]) == {}


@pytest.mark.parametrize(
    "text",
    ["", "score", "score = 0.9", "accuracy >= 0.9", "score >= 90", "score >= -1", "score >= 1.2.3",
     "score >= 0.9 per planet", "score >= 0.9 [size<=3]", "score >= 0.9 [task<=niah]", "score >= 0.9 [length<=many]",
     "score >= 0.9 [depth=a..b]", "score >= 0.9 [length<=1k..2k]", "score >= 0.9 per length per depth",
     "lower_bound <= 0.9", "drop >= 0.02"],
)  # fmt: skip
def test_a_wrong_gate_is_one_line_that_names_the_option(text):
    with pytest.raises(InputError) as caught:
        parse_gate(text)

    assert str(caught.value).startswith("--gate")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["score >= 1", "score > 100%", "lower_bound >= 1.0", "score <= 0", "score < 0%"])
def test_what_no_run_can_show_is_refused_with_what_can_be_asked(text):
    with pytest.raises(InputError, match=r"no number of trials shows a score of exactly [01]; write score [<>]= 0\."):
        parse_gate(text)


@given(st.text())
def test_no_text_makes_the_parser_stumble(text):
    try:
        parse_gate(text)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right, a traceback is not
