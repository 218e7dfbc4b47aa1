"""Properties of every scorer, and of `match` on arbitrary values."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.match.match import match_score, spellings
from needlework.scoring.plain_text import flatten, normalize, normalize_lines
from needlework.scoring.published.opencompass import squeeze
from needlework.scoring.registry import SCORERS
from needlework.scoring.scores import Reference

_ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
_NUMBERS = st.integers(0, 10**9).map(str)
_NAMES = st.from_regex(r"[A-Z][a-z]{2,9}( [A-Z][a-z]{2,9})?", fullmatch=True)
_CHINESE = st.text(st.sampled_from("上海北京人工智能实验室大学图书馆"), min_size=2, max_size=9)
_VALUES = st.one_of(_NUMBERS, _NAMES, _CHINESE)
_REFERENCE = Reference(
    ("48213",), statement="The code is 48213.", keyword="48213", distractors=("77120",), question="What is the code?"
)
_MANY = Reference((), statement="Codes: 48213, 上海.", keyword="48213", parts=("48213", "上海"))
_HUGE = [
    "\x00" * 100_000,
    "a" * 100_000,
    "\ud800" * 50_000,
    "!" * 100_000,
    "*_`" * 33_000,
    "48213 " * 17_000,
    "48213, 77120. " * 7_000,
    "1,111" * 20_000,
    "not " * 25_000,
    "上海不是" * 25_000,
    "What is the code? " * 5_500,
    "The code is 48213. " * 5_000,
    "{" * 50_000 + "}" * 50_000,
    "\\boxed{" * 14_000,
]


@given(_ANY_TEXT)
def test_no_scorer_raises_and_every_score_is_0_to_1(answer):
    for scorer in SCORERS.values():
        for reference in (_REFERENCE, _MANY):
            score = scorer.judge(answer, reference)
            assert 0 <= score.value <= 1, scorer.name
            assert score.verdict in ("found", "partial", "wrong", "distractor", "refused", "empty", "unclear")
            assert (score.verdict == "found") == (score.value == 1)


@pytest.mark.parametrize("answer", _HUGE, ids=[ascii(text[:12]) for text in _HUGE])
@pytest.mark.parametrize("length", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_huge_answers_are_judged_in_time(answer, length):
    """Ten times as long an answer takes ten times as long; three times that is let pass, and half a second.

    One of three attempts has to: a garbage collection of a worker's whole heap takes a second, in any of them.
    """
    for scorer in SCORERS.values():

        def taken(characters, scorer=scorer):
            start = time.process_time()
            assert 0 <= scorer.judge(answer[:characters], _REFERENCE).value <= 1
            return time.process_time() - start

        tenth = taken(length // 10)
        assert any(taken(length) < 30 * tenth + 0.5 for _ in range(3)), scorer.name


@given(_VALUES)
def test_the_bare_value_is_found(value):
    reference = Reference((value,))
    for answer in (value, f"{value}.", f"**{value}**", f'"{value}"', f"Answer: {value}\n", f"答案是“{value}”。"):
        assert match_score(answer, reference).verdict == "found", answer


@given(_ANY_TEXT.filter(lambda text: bool(normalize(text)) and bool(spellings(text))))
def test_any_bare_reference_is_found(value):
    assert match_score(value, Reference((value,))).verdict == "found"


@given(_NUMBERS, st.sampled_from("0123456789０９٣"), st.booleans())
def test_one_more_digit_is_another_number(value, digit, before):
    answer = digit + value if before else value + digit
    assert match_score(f"The number is {answer}.", Reference((value,))).value == 0


@given(_VALUES)
def test_a_denied_value_is_not_found(value):
    reference = Reference((value,))
    for answer in (f"It is not {value}.", f"The answer isn't {value}", f"不是{value}。", f"{value} is not the answer."):
        assert match_score(answer, reference).value == 0, answer


@given(_ANY_TEXT)
def test_normalisation_is_stable(text):
    lines = normalize_lines(text)
    assert len(flatten(lines)) == len(lines)
    assert "  " not in lines


def test_squeeze_removes_what_a_regular_expression_calls_white_space():
    every = "".join(map(chr, range(0x3100)))
    assert squeeze(every) == re.sub(r"\s+", "", every)


def test_many_pairs_take_seconds():
    answers = [f"The secret code for Lisbon is {number}." for number in range(40_000, 60_000)]
    reference = Reference(("48213",), distractors=("77120",), question="What is the secret code for Lisbon?")
    start = time.process_time()
    found = sum(match_score(answer, reference).value for answer in answers)
    assert found == 1
    assert time.process_time() - start < 10
