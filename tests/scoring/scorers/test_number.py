"""One number: what real models write around it, and what is no answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.scorers.values import NUMBER, number_score
from needlework.scoring.scores import Reference

COUNT = Reference(
    ("7",),
    question="How many sentences of the document say that a red kite was seen? The number is from 0 to 20. "
    "Reply with the number only.",
)
CLASS = Reference(("46",), distractors=("80", "23"), question='What is the number for the input "bimima puviru"?')
ZH = Reference(("7",), question="文档中有几句话说有人看见红鸢？这个数在0到20之间。请只回答这个数。", language="zh")


def test_how_far_off_is_told() -> None:
    assert number_score("5", COUNT).details == {"given": 5.0, "error": -2.0, "relative_error": 0.2857}
    assert number_score("3", Reference(("0",))).details == {"given": 3.0, "error": 3.0, "relative_error": 3.0}
    assert number_score("no idea", COUNT).details == {}


@given(st.integers(-999_999, 999_999), st.integers(-999_999, 999_999))
def test_a_number_is_right_if_it_is_the_number(right: int, given_number: int) -> None:
    reference = Reference((str(right),))
    for said in (str(given_number), f"The answer is {given_number}.", f"{given_number:,}", f"答案是{given_number}。"):
        assert number_score(said, reference).value == (right == given_number)


@given(st.text(max_size=80))
def test_any_answer_has_a_score(answer: str) -> None:
    for reference in (COUNT, CLASS, ZH):
        score = NUMBER.judge(answer, reference)
        assert score.value in (0.0, 1.0)
        assert (score.value == 1) == (score.verdict == "found")


def test_a_reference_without_a_number_is_an_error() -> None:
    for reference in (Reference(()), Reference(("seven",))):
        with pytest.raises(ValueError, match=r"number|float"):
            number_score("7", reference)
