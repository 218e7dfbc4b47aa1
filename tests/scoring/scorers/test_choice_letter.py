"""`choice_letter` takes the letter that an answer concludes with, and no letter out of a word."""

from __future__ import annotations

import pytest

from needlework.scoring.scorers.letters import choice_letter_score
from needlework.scoring.scores import Reference

GIVES = {
    "The correct answer is (B)": "B",
    "The correct answer is (B), since A is out.": "B",
    "It cannot be A.\n\n**ANSWER: B**": "B",
    "Answer: b": "B",
    "(B)": "B",
    "B. the bridge": "B",
    "（Ｂ）": "B",
    r"So $\boxed{\text{B}}$": "B",
    "正确答案是B。": "B",
    "答案：（B）": "B",
    "The answer is A. Wait: the answer is B.": "B",
    "The answer is B, not A": "B",
    "The answer is A because the bridge is old.": "A",
    "The correct choice is option C.": "C",
    "Answer choice: D": "D",
}
NONE = [
    "",
    "The correct answer is Amber",
    "The answer is a bridge",
    "The answer is A bridge too far",
    "The correct answer is (A) or (B)",
    "ANSWER: A and C",
    "The correct answer is (insert answer here)",
    "Answer: E",
    "A. the bridge\nB. the boat",
    "I would say that A looks better than B.",
    "The answer is not B",
    "I do not know.",
]


@pytest.mark.parametrize(("answer", "letter"), GIVES.items())
def test_gives(answer: str, letter: str) -> None:
    assert choice_letter_score(answer, Reference(("A",))).details == {"letter": letter}


@pytest.mark.parametrize("answer", NONE)
def test_gives_no_letter(answer: str) -> None:
    assert choice_letter_score(answer, Reference(("A",))).details == {"letter": ""}


def test_a_letter_is_right_or_wrong_and_none_is_told_apart() -> None:
    right = Reference(("C",))
    assert choice_letter_score("Answer: C", right).verdict == "found"
    assert choice_letter_score("Answer: D", right).details == {"letter": "D"}
    assert choice_letter_score("Who knows", right).details == {"letter": ""}
    assert choice_letter_score("I cannot answer that.", right).verdict == "refused"
