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
CALL = Reference(("331",), question="The document defines functions. What does kebano(314) return? Number only.")
WEIGHT = Reference(("412345",), question="What is the largest weight in grams that the document states?")
CLASS = Reference(("46",), distractors=("80", "23"), question='What is the number for the input "bimima puviru"?')
ZH = Reference(("7",), question="文档中有几句话说有人看见红鸢？这个数在0到20之间。请只回答这个数。", language="zh")

RIGHT = [
    (COUNT, "7"),
    (COUNT, "**7**"),
    (COUNT, "7.\n\nThe sentences are:\n1. over Linton\n2. over Ashford\n3. over Marlow"),
    (COUNT, "There are 7 such sentences."),
    (COUNT, "I count 3 in the first half and 4 in the second, so the answer is 7."),
    (COUNT, "1. Linton\n2. Ashford\n...\nTotal: 7"),
    (COUNT, "Seven."),
    (COUNT, "A red kite was seen seven times."),
    (COUNT, "7 out of 20"),
    (COUNT, "7.0"),
    (COUNT, "It is not 8; it is 7."),
    (COUNT, f"{COUNT.question} 7"),
    (COUNT, "I can't be fully certain, but I count 7."),
    (CALL, "kebano(314) = 331"),
    (CALL, "331 is what kebano(314) returns."),
    (CALL, "kebano(314) = dorita(314) + 12\ndorita(314) = 314 + 5 = 319\n319 + 12 = 331"),
    (CALL, "Step 1: 314 + 5 = 319\nStep 2: 319 + 12 = 331\n\n\\boxed{331}"),
    (CALL, "The answer is `331`."),
    (CALL, "kebano(314)的返回值是331。"),
    (WEIGHT, "412,345"),
    (WEIGHT, "412 345 grams".replace(" ", "\u202f", 1)),
    (WEIGHT, "412345g"),
    (WEIGHT, "The largest weight is 412,345 grams, stated for the 3rd bucket."),
    (WEIGHT, "４１２３４５"),
    (CLASS, "46"),
    (CLASS, "-> 46"),
    (ZH, "7"),
    (ZH, "7句"),
    (ZH, "一共有7句话。"),
    (ZH, "一共七句。"),
    (ZH, "答案是７。"),
    (ZH, "不是8，而是7。"),
]
WRONG = [
    (COUNT, "8", "wrong"),
    (COUNT, "17", "wrong"),
    (COUNT, "70", "wrong"),
    (COUNT, "7.5", "wrong"),
    (COUNT, "-7", "wrong"),
    (COUNT, "7 or 8", "wrong"),
    (COUNT, "between 5 to 7", "wrong"),
    (COUNT, "5-7", "wrong"),
    (COUNT, "7\u20139 sentences", "wrong"),
    (COUNT, "not 7", "wrong"),
    (COUNT, "The 7th sentence", "wrong"),
    (COUNT, "many", "wrong"),
    (COUNT, "I cannot determine that.", "refused"),
    (COUNT, "NOT FOUND", "refused"),
    (COUNT, COUNT.question, "wrong"),
    (COUNT, "", "empty"),
    (COUNT, " \n ", "empty"),
    (CALL, "331.5", "wrong"),
    (CALL, "x331", "wrong"),
    (CALL, "314 + 5 = 319", "wrong"),
    (CALL, "The answer is 331 or 319.", "wrong"),
    (WEIGHT, "412346", "wrong"),
    (WEIGHT, "1412345", "wrong"),
    (CLASS, "80", "distractor"),
    (CLASS, "46 or 80", "wrong"),
    (ZH, "没有提到", "refused"),
    (ZH, "8", "wrong"),
    (ZH, "十七句", "wrong"),
    (ZH, "7到9句", "wrong"),
]


@pytest.mark.parametrize(("reference", "answer"), RIGHT)
def test_right_answers(reference: Reference, answer: str) -> None:
    score = number_score(answer, reference)
    assert (score.value, score.verdict) == (1.0, "found"), score
    assert score.details["error"] == score.details["relative_error"] == 0


@pytest.mark.parametrize(("reference", "answer", "verdict"), WRONG)
def test_wrong_answers(reference: Reference, answer: str, verdict: str) -> None:
    score = number_score(answer, reference)
    assert (score.value, score.verdict) == (0.0, verdict), score


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
