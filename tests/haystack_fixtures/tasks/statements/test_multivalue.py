"""Several values asked for at once, and spread over the text."""

from __future__ import annotations

import re

from hypothesis import given, settings

from tests.haystack_fixtures.tasks.built import context
from tests.haystack_fixtures.tasks.prose import languages, seeds, trials_of

ONE_OF = {"en": r"One \w+ code for (the \w+ \w+) is (\d{7})\.", "zh": r"(\w{4})的\w+代码之一是(\d{7})。"}
STATEMENT = {"en": r"The \w+ code for (the \w+ \w+) is (\d{7})\.", "zh": r"(\w{4})的\w+代码是(\d{7})。"}


@settings(max_examples=8)
@given(seed=seeds, language=languages)
def test_the_text_gives_every_value_of_the_key(seed, language):
    (trial,) = trials_of("multivalue", seed=str(seed), language=language)
    found = re.findall(ONE_OF[language], context(trial))
    assert {key in trial.asked.question for key, _ in found} == {True}
    assert [value for _, value in found] == list(trial.asked.reference["parts"])
    assert trial.asked.answer.split("\n") == [value for _, value in found]


@settings(max_examples=8)
@given(seed=seeds, language=languages)
def test_the_text_gives_the_value_of_every_key(seed, language):
    (trial,) = trials_of("multiquery", seed=str(seed), language=language)
    found = re.findall(STATEMENT[language], context(trial))
    assert [value for _, value in found] == list(trial.asked.reference["parts"])
    asked = sorted(found, key=lambda pair: trial.asked.question.index(pair[0]))
    assert trial.asked.answer.split("\n") == [value for _, value in asked]


@settings(max_examples=8)
@given(seed=seeds)
def test_one_value_stands_in_every_quarter(seed):
    for task in ("multivalue", "multiquery"):
        (trial,) = trials_of(task, seed=str(seed), language="en")
        for quarter, depth in enumerate(trial.asked.depths):
            assert 25 * quarter <= depth < 25 * (quarter + 1)
