r"""Answers to NeedleBench's chains as models give them: what stands in the last \boxed{} counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.registry import scorer_named
from needlework.scoring.scorers.documents import ABSTAIN
from needlework.scoring.scores import Reference

FLORA = Reference(
    ("Flora Lockwood",),
    keyword="Flora Lockwood",
    distractors=("Hugo Rathbone", "Ruth Vavasour"),
    question=r"Who is the eldest relative of Ivor Guthrie? Put the full name at the end in \boxed{}.",
)
LIAN = Reference(("姜莲心",), keyword="姜莲心", distractors=("毛芸香",), language="zh")
NINE = Reference(("9",), keyword="9")
BOXED, WORDS = scorer_named("needlebench_atc"), scorer_named("needlebench_v1_multi")


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (FLORA, r"\boxed{Flora Lockwood}"),
        (FLORA, r"Ivor's mother is Ruth Vavasour, and hers is Flora Lockwood. So: $\boxed{\text{Flora Lockwood}}$."),
        (FLORA, r"**Answer:** \(\boxed{\textbf{Flora Lockwood}}\)"),
        (FLORA, r"\boxed{\mathrm{Flora\ Lockwood}}"),
        (FLORA, r"\boxed {Flora Lockwood}"),
        (FLORA, r"\boxed{{flora lockwood.}}"),
        (FLORA, "First \\boxed{Hugo Rathbone}? No, further back:\n\n\\boxed{Flora~Lockwood}"),
        (LIAN, r"倪冠军的外祖母是汪琪瑛……所以答案是\boxed{姜莲心}。"),
        (LIAN, r"\boxed{“姜莲心”}"),
        (NINE, r"1 + 2 + 2 + 2 + 2 = \boxed{9}"),
        (NINE, r"一共\boxed{９}代"),
    ],
)
def test_right(reference: Reference, answer: str) -> None:
    assert (BOXED.judge(answer, reference).value, BOXED.judge(answer, reference).verdict) == (1, "found")


@pytest.mark.parametrize(
    ("reference", "answer", "verdict"),
    [
        (FLORA, "", "empty"),
        (FLORA, "Flora Lockwood", "wrong"),
        (FLORA, r"\boxed{}", "wrong"),
        (FLORA, r"\boxed{Flora}", "wrong"),
        (FLORA, r"\boxed{Flora Lockwood or Hugo Rathbone}", "wrong"),
        (FLORA, r"\boxed{Ivor Guthrie}", "wrong"),
        (FLORA, r"Flora Lockwood is named too, but it is \boxed{Ruth Vavasour}", "distractor"),
        (FLORA, r"The text does not say who Ruth's mother is, so \boxed{Dan Hill}", "wrong"),
        (FLORA, "NOT FOUND", "refused"),
        (FLORA, r"\boxed{NOT FOUND}", "refused"),
        (FLORA, FLORA.question, "wrong"),
        (LIAN, "没有提到", "refused"),
        (LIAN, r"\boxed{没有提到}", "refused"),
        (LIAN, r"\boxed{毛芸香}", "distractor"),
        (NINE, r"\boxed{19}", "wrong"),
        (NINE, r"\boxed{8}", "wrong"),
    ],
)
def test_not_right(reference: Reference, answer: str, verdict: str) -> None:
    assert (BOXED.judge(answer, reference).value, BOXED.judge(answer, reference).verdict) == (0, verdict)


@pytest.mark.parametrize("answer", ["NOT FOUND", r"\boxed{NOT FOUND}", "没有提到。", r"\boxed{没有提到}"])
def test_declining_is_right_where_the_chain_is_absent(answer: str) -> None:
    absent = Reference(("NOT FOUND",), distractors=FLORA.distractors, absent=True)

    assert ABSTAIN.judge(answer, absent).value == 1
    assert ABSTAIN.judge(r"\boxed{Flora Lockwood}", absent).value == 0


@given(st.text(max_size=80))
def test_only_the_box_counts(before: str) -> None:
    assert BOXED.judge(before.replace("\\", "") + r" \boxed{Flora Lockwood}", FLORA).value == 1
    assert BOXED.judge(rf"\boxed{{Flora Lockwood}} {before} \boxed{{Ruth Vavasour}}", FLORA).value == 0


def test_words_of_the_name_share_the_points_in_v1() -> None:
    assert WORDS.judge(r"\boxed{Flora Lockwood}", FLORA).value == 1
    assert WORDS.judge("It is someone called Flora.", FLORA).value == 0.5
    assert WORDS.judge("Hugo Rathbone", FLORA).value == 0
