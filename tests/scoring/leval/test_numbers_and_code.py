"""GSM's numbers and what CodeU's programs print."""

from __future__ import annotations

from fractions import Fraction

import pytest

from needlework.scoring.leval.exact import (
    CODE,
    CODE_COMPAT,
    MATH,
    MATH_COMPAT,
    compat_number,
    compat_output,
    stated_number,
)
from needlework.scoring.scores import Reference


@pytest.mark.parametrize(
    ("answer", "digits"),
    [
        ("So 3 * 6 = 18.\nThe answer is 18.", "18"),
        ("The answer is $1,234.50", "1234"),
        ("The answer is 5.94", "5"),
        ("The answer is 69/3 liters", "693"),
        ("The answer is -4.", "4"),
        ("The answer is .5", ""),
        ("The answer is 3. No, The answer is 4", "3"),
        ("The answer is: 5 of 7", "7"),
        ("It takes 12 hours and 30 minutes", "30"),
        ("12 hours\n\nthat is 720 minutes", "12"),
        ("a dozen", ""),
        ("", ""),
    ],
)
def test_compat_digits(answer: str, digits: str) -> None:
    assert compat_number(answer) == digits


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("So 3 * 6 = 18.\nThe answer is 18.", 18),
        ("The answer is $1,234.50", "1234.5"),
        ("The answer is 69/3 liters", 23),
        ("The answer is -4.", -4),
        ("The answer is -$4.", -4),
        ("The answer is .5", "0.5"),
        ("The answer is: 5 of 7", 5),
        ("The answer is 3. No, the answer is 4", 4),
        ("The answer is 10 + 5 = 15", 15),
        ("#### 1,000", 1000),
        (r"so \boxed{42}", 42),
        ("12 hours\n\nthat is 720 minutes", 720),
        ("The answer is 5.\n\nQuestion: 2+2?\nThe answer is 4.", 5),
        ("The answer is:\n- 5 apples", 5),
        ("The answer is 3/0", None),
        ("a dozen", None),
        ("", None),
    ],
)
def test_strict_number(answer: str, number: int | str | None) -> None:
    assert stated_number(answer) == (None if number is None else Fraction(number))


@pytest.mark.parametrize(
    ("answer", "gold", "compat", "strict"),
    [
        ("The answer is 294.67.", "294", 1, 0),
        ("The answer is -18", "18", 1, 0),
        ("The answer is: 366, as 6 * 61 shows for 2 of them", "366", 0, 1),
        ("The answer is 18.00", "18", 1, 1),
        ("no number", "18", 0, 0),
        ("no number", "none", 0, 0),
    ],
)
def test_numbers_by_both_rules(answer: str, gold: str, compat: float, strict: float) -> None:
    assert MATH_COMPAT.judge(answer, Reference((gold,))) == compat
    assert MATH.judge(answer, Reference((gold,))) == strict


def test_compat_window_of_code_answers() -> None:
    assert compat_output("So the final output of the code is `3`.", 1) == " `3`."
    assert compat_output("a b c d e f g", 2) == "c d e f g"
    assert compat_output("the final output is 1, the final output of the code is [1, 2] and more and more", 2) == (
        " [1 2] and more"
    )
    assert compat_output("[[1.0, 2.0]\n [3, 4]]", 3) == "[[1 2][3 4]]"


@pytest.mark.parametrize(
    ("answer", "gold", "compat", "strict"),
    [
        ("The final output of the code is `[5, 7, 9]`.", "[5 7 9]", 1, 1),
        ("[5. 7. 9.]", "[5 7 9]", 0, 1),
        ("It prints array([5, 7, 9]).", "[5 7 9]", 1, 1),
        ("The final output of the code is:\n[14, 32, 54]", "32", 1, 0),
        ("the result of `operation2` is unknown", "2", 1, 0),
        ("the final output is `3.5`", "3", 1, 0),
        ("the final output is 15", "1.05", 1, 0),
        ("NLP is cool", "NLP is cool", 0, 1),
        ("...", "-. .-.. .--.", 1, 0),
        ("", "-. .-.. .--.", 1, 0),
        ("The final output is `-. .-.. .--.`", "-. .-.. .--.", 0, 1),
        ("The final output is the array [1, 3]. It is obtained by counting from 1 to 3 in twos.", "[1 3]", 0, 1),
        ('The output is "level, deed".', "level,deed", 1, 1),
        ("```\n[[1 2]\n [3 4]]\n```", "[[1 2] [3 4]]", 1, 1),
        ("The final output is True.", "True", 1, 1),
        ("I cannot tell.", "[1 2]", 0, 0),
    ],
)
def test_code_by_both_rules(answer: str, gold: str, compat: float, strict: float) -> None:
    assert CODE_COMPAT.judge(answer, Reference((gold,))) == compat
    assert CODE.judge(answer, Reference((gold,))) == strict
