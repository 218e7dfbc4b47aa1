"""Replies read as pairs of question and answer."""

import contextlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.questions.pairs import QuestionPair, read_pairs, too_long

OWL = {"question": "What does the owl eat?", "answer": "mice"}
BAT = {"question": "What does the bat eat?", "answer": "moths", "aliases": ["night moths"]}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps([OWL, BAT]),
        f"Here they are:\n```json\n{json.dumps([OWL, BAT], indent=2)}\n```\nI hope [this] helps.",
        f"[1] I read it. {json.dumps({'items': [OWL, BAT]})}",
        json.dumps([OWL, BAT, OWL]),
    ],
)
def test_json_is_found_in_whatever_a_model_says_around_it(reply):
    assert read_pairs(reply, 2) == (
        QuestionPair("What does the owl eat?", "mice"),
        QuestionPair("What does the bat eat?", "moths", ("night moths",)),
    )


def test_one_object_is_one_pair_and_numbers_are_texts():
    assert read_pairs('{"question": " How many? ", "answer": 1912}', 1) == (QuestionPair("How many?", "1912"),)


@pytest.mark.parametrize(
    ("reply", "count", "problem"),
    [
        ("I cannot do that.", 1, "there is no JSON like"),
        ("[" * 100_000, 1, "there is no JSON like"),
        ("[5]", 1, "item 1 is no JSON object"),
        (json.dumps([OWL]), 2, "1 where 2 were asked for"),
        (json.dumps([OWL, {"question": "x"}]), 2, "item 2: `answer` is missing"),
        (json.dumps([{**OWL, "answer": " "}]), 1, "item 1: `answer` is missing"),
        (json.dumps([{**OWL, "aliases": "x"}]), 1, "item 1: `aliases` is no list"),
        (json.dumps([{**OWL, "aliases": [True]}]), 1, "item 1: an alias is missing or no text"),
        ('[{"question": "a", "answer": "\\ud800"}]', 1, "item 1: `answer` is missing or no text"),
        (json.dumps([OWL, {**OWL, "question": "what does the OWL eat?"}]), 2, "two of the questions are the same"),
        (json.dumps([{**OWL, "answer": "a mouse " * 13}]), 1, "item 1: the answer has 26 words, at most 25 words are"),
    ],
)
def test_what_is_wrong_is_said(reply, count, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_pairs(reply, count)


@given(st.text('[]{}":,\\ 1aquestionanswer'))
def test_whatever_is_said_is_pairs_or_a_value_error(reply):
    with contextlib.suppress(ValueError):
        assert len(read_pairs(reply, 1)) == 1


def test_chinese_answers_count_by_characters():
    assert too_long("猫" * 60) == too_long("one two " * 12) == ""
    assert too_long("猫" * 61) == "the answer has 61 characters, at most 60 characters are short"
