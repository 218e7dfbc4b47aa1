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
    " " * 100_000 + "x",
    "A," * 50_000,
    "answer is " * 10_000,
    "[fact:" * 20_000,
    "4-7-1-2 " * 12_500,
    "三只 " * 33_000,
]
OWN_REFERENCES = {
    "copy": Reference(("river river rivers river",), parts=("river", "rivers"), keyword="rivers"),
    "number": Reference(("7",), question="文档中有几句话说有人看见红鸢？", language="zh"),
    "word_list": Reference((), parts=("noon", "hive"), distractors=("box", "afternoon"), question="Which two?"),
    "ruler_all": Reference((), parts=("1111111", "2222222")),
    "ruler_strict": Reference((), parts=("apple", "bread")),
}


@given(_ANY_TEXT)
def test_no_scorer_raises_and_every_score_is_0_to_1(answer):
    for scorer in SCORERS.values():
        for reference in (_REFERENCE, _MANY, OWN_REFERENCES.get(scorer.name, _MANY)):
            score = scorer.judge(answer, reference)
            assert 0 <= score.value <= 1, scorer.name
            assert score.verdict in ("found", "partial", "wrong", "distractor", "refused", "empty", "unclear")
            assert (score.verdict == "found") == (score.value == 1)


def test_long_answers_are_judged():
    for answer in _HUGE:
        for scorer in SCORERS.values():
            assert 0 <= scorer.judge(answer[:2000], _REFERENCE).value <= 1


@pytest.mark.slow
@pytest.mark.parametrize("answer", _HUGE, ids=[ascii(text[:12]) for text in _HUGE])
def test_huge_answers_are_judged_in_time(answer):
    """Ten times as long an answer takes ten times as long; three times that is let pass, and half a second.

    One of three attempts has to: a garbage collection of a worker's whole heap takes a second, in any of them.
    """
    for scorer in SCORERS.values():

        def taken(characters, scorer=scorer):
            start = time.process_time()
            assert 0 <= scorer.judge(answer[:characters], _REFERENCE).value <= 1
            return time.process_time() - start

        tenth = taken(10_000)
        assert any(taken(100_000) < 30 * tenth + 0.5 for _ in range(3)), scorer.name


@given(_ANY_TEXT.filter(lambda text: bool(normalize(text)) and bool(spellings(text))))
def test_any_bare_reference_is_found(value):
    assert match_score(value, Reference((value,))).verdict == "found"


@given(_ANY_TEXT)
def test_normalisation_is_stable(text):
    lines = normalize_lines(text)
    assert len(flatten(lines)) == len(lines)
    assert "  " not in lines


def test_squeeze_removes_what_a_regular_expression_calls_white_space():
    every = "".join(map(chr, range(0x3100)))
    assert squeeze(every) == re.sub(r"\s+", "", every)
