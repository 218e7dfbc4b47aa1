"""The scorer `set_f1`: recall and precision over all values that were asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.scorers.sets import set_f1_score
from needlework.scoring.scores import Reference

CODES = Reference(
    (),
    parts=("4815162", "9300121", "7745810", "2070130"),
    question="Which badge codes for the amber otter does the document give?",
)
NAMES = Reference((), parts=("SRQWT", "FXVTC", "RMCTV"), distractors=("MSGBF", "WMTZB"), question="Which names?")
LONG = "The harbour was quiet. " * 60


@pytest.mark.parametrize(
    ("answer", "f1", "missed", "extra"),
    [
        ("4815162\n9300121\n7745810\n2070130", 1, "", 0),
        ("2070130, 7745810, 9300121 and 4815162.", 1, "", 0),
        ("- **4,815,162**\n- **9,300,121**\n- **7,745,810**\n- **2,070,130**", 1, "", 0),
        ("The codes are:\n1. 4815162\n2. 9300121\n3. 7745810\n4. 2070130", 1, "", 0),
        ("代码有：4815162、9300121、7745810、2070130。", 1, "", 0),
        ("4815162\n9300121\n7745810", 6 / 7, "4", 0),
        ("9300121", 2 / 5, "1,3,4", 0),
        ("4815162\n9300121\n7745810\n2070130\n5555555", 8 / 9, "", 1),
        ("4815162\n1111111\n1111111", 2 / 6, "2,3,4", 1),
        ("4815162 and not 9300121", 2 / 5, "2,3,4", 0),
        ("148151629", 0, "1,2,3,4", 0),
        ("I looked at 5555555 first.\nAnswer:\n4815162\n9300121\n7745810\n2070130", 1, "", 0),
        (f"{LONG}\n4815162, 9300121, 7745810, 2070130", 1, "", 0),
        (f"4815162, 9300121, 7745810, 2070130 {LONG} {LONG}", 1, "", 0),
    ],
)
def test_codes(answer, f1, missed, extra):
    score = set_f1_score(answer, CODES)
    assert score.value == pytest.approx(f1)
    assert (score.details["missed"], score.details["extra"]) == (missed, extra)
    assert score.details["exact"] == (f1 == 1)
    assert score.verdict == ("found" if f1 == 1 else "partial" if f1 else "wrong")


@pytest.mark.parametrize(
    ("answer", "f1"),
    [
        ("SRQWT\nFXVTC\nRMCTV", 1),
        ("srqwt, fxvtc, rmctv", 1),
        ("名称是SRQWT、FXVTC和RMCTV。", 1),
        ("SRQWT, FXVTC", 4 / 5),
        ("SRQWT, FXVTC, RMCTV, MSGBF", 6 / 7),
        ("SRQWT, FXVTC, RMCTV, BBBBB", 6 / 7),
        ("SRQWT = FXVTC = RMCTV", 1),
        ("MSGBF is another value. The answer is: SRQWT, FXVTC, RMCTV", 1),
    ],
)
def test_names(answer, f1):
    assert set_f1_score(answer, NAMES).value == pytest.approx(f1)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("", "empty"),
        ("NOT FOUND", "refused"),
        ("没有提到", "refused"),
        ("The document does not mention any.", "refused"),
        ("WMTZB", "distractor"),
        ("BBBBB", "wrong"),
        ("none of them, really: XXXXX", "wrong"),
        ("Which names?", "wrong"),
    ],
)
def test_answers_without_a_right_value(answer, verdict):
    score = set_f1_score(answer, NAMES)
    assert (score.value, score.verdict) == (0, verdict)


@given(st.permutations(CODES.parts), st.sampled_from(["\n", ", ", "、", " and ", "\n- "]))
def test_order_and_layout_do_not_matter(parts, between):
    assert set_f1_score(between.join(parts), CODES).value == 1


@given(st.sets(st.sampled_from(CODES.parts)), st.integers(0, 3))
def test_f1_is_that_of_the_sets(given_parts, more):
    wrong = [str(3_000_000 + number) for number in range(more)]
    score = set_f1_score("\n".join([*sorted(given_parts), *wrong]), CODES)
    both = len(given_parts) + more + len(CODES.parts)
    assert score.value == pytest.approx(2 * len(given_parts) / both)
    assert score.details["recall"] == len(given_parts) / 4 if score.details else not (given_parts or more)


def test_a_reference_without_values_is_an_error():
    with pytest.raises(ValueError, match="give parts"):
        set_f1_score("x", Reference(()))
