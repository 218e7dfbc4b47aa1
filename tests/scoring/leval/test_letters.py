"""Option letters: what the published extraction takes, and what an answer states."""

from __future__ import annotations

import pytest

from needlework.scoring.leval.exact import (
    LETTER,
    LETTER_COMPAT,
    LETTERS,
    LETTERS_COMPAT,
    compat_letters,
)
from needlework.scoring.scorers.letters import stated_letters
from needlework.scoring.scores import Reference


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ("", "None"),
        (" \n", "None"),
        ("C", "C"),
        ("BCD", "BCD"),
        ("Based on the text, the answer is C", "B"),
        ("According to the text: D", "A"),
        ("Choice D", "C"),
        ("B and D", "B"),
        ("d", "A"),
        ("I do not know", "A"),
    ],
)
def test_compat_takes_one_letter_wherever_it_stands(answer: str, taken: str) -> None:
    assert compat_letters(answer, several=False) == taken


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ("ACB", "ABC"),
        ("BB", "B"),
        ("B, C, D", "B"),
        ("A and C", "A"),
        ("A B C D", "ABC"),
        ("Answer: A, B, and D.", "AD"),
        ("Question 1: B", "A"),
        ("The options are (B) and (D).", "BD"),
        ("no option fits", "A"),
        ("it is,CAB,", "CAB"),
        ("", "None"),
    ],
)
def test_compat_loses_letters_of_several(answer: str, taken: str) -> None:
    assert compat_letters(answer, several=True) == taken


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        ("C", "C"),
        ("(b)", "B"),
        ("**B**", "B"),
        ("Ｂ", "B"),
        ("Question 1: B", "B"),
        ("B, C, D", "BCD"),
        ("A and C", "AC"),
        ("A B C D", "ABCD"),
        ("ABD", "ABD"),
        ("Answer: A, B, and D.", "ABD"),
        ("A. Encourage change\nC. Help solve problems", "AC"),
        ("A. Asterisk (*) and B. Forward slash (/)", "AB"),
        ("Based on the text, the answer is C", "C"),
        ("Option A is wrong; the answer is C.", "C"),
        ("It is not A but C", "C"),
        ("The answer isn't B", ""),
        ("(D) A boy realizes the full extent", "D"),
        ("A good answer is B", "B"),
        ("A boy", ""),
        ("A because the text says so", "A"),
        ("Based on the text, all of them", ""),
        ("I do not know", ""),
        ("", ""),
        ("B\n\nQuestion 2: what else?\nA. this\nC. that", "B"),
    ],
)
def test_strict_reads_the_letters_that_are_stated(answer: str, stated: str) -> None:
    assert stated_letters(answer) == stated


@pytest.mark.parametrize("letter", "ABCD")
def test_a_sentence_around_the_right_letter_is_right_only_for_the_strict_rule(letter: str) -> None:
    reference, answer = Reference((letter,)), f"Based on the text, the answer is {letter}"

    assert LETTER.judge(answer, reference) == 1
    assert LETTER_COMPAT.judge(answer, reference) == (letter == "B")


def test_naming_two_options_of_a_single_choice_is_right_only_for_the_published_rule() -> None:
    assert LETTER_COMPAT.judge("B and D", Reference(("(B) the text",))) == 1
    assert LETTER.judge("B and D", Reference(("(B) the text",))) == 0


@pytest.mark.parametrize(
    ("answer", "gold", "compat", "strict"),
    [
        ("ABC", "ABC", 1, 1),
        ("A", "ABC", 0.25, 0),
        ("AB", "ABCD", 0.25, 0),
        ("AD", "ABC", 0, 0),
        ("ABCD", "ABC", 0, 0),
        ("A, B, C", "ABC", 0.25, 1),
        ("", "A", 0, 0),
        ("nothing fits", "AB", 0.25, 0),
    ],
)
def test_part_of_the_letters_is_a_flat_quarter_or_nothing(answer: str, gold: str, compat: float, strict: float) -> None:
    assert LETTERS_COMPAT.judge(answer, Reference((gold,))) == compat
    assert LETTERS.judge(answer, Reference((gold,))) == strict
