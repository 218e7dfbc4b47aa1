"""Keys and values of statements: from large lists, never alike by accident."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.draws import draws
from needlework.haystack_fixtures.tasks import statements
from needlework.haystack_fixtures.tasks.statements import draw_people


@pytest.mark.parametrize(("language", "adjectives", "nouns"), [("en", 500, 1500), ("zh", 100, 250)])
def test_the_lists_are_large_and_have_no_word_in_common(language, adjectives, nouns):
    first, second = statements._words(language)
    assert (len(set(first)), len(set(second))) == (len(first), len(second))
    assert len(first) >= adjectives
    assert len(second) >= nouns
    assert not set(first) & set(second)
    assert all(re.fullmatch("[a-z]+" if language == "en" else r"\w\w", word) for word in first + second)


@given(st.integers(), st.sampled_from(["en", "zh"]), st.integers(1, 65))
def test_keys_and_values_differ(seed, language, count):
    drawn = statements.draw_keys(draws(seed), language, count)
    values = statements.draw_values(draws(seed), count)
    assert len(set(drawn)) == len(set(values)) == count
    assert not any(one != other and one in other for one in drawn for other in drawn)
    assert all(re.fullmatch(r"[1-9]\d{6}", value) and value != value[::-1] for value in values)
    near = statements.draw_near_keys(draws(seed), language, count)
    assert near[0] == drawn[0]
    assert len(set(near)) == count


@given(st.integers(), st.integers(1, 40))
def test_depths_ascend_one_in_each_part(seed, count):
    depths = statements.stratified(draws(seed), count)
    assert all(number <= depth * count / 100 + 0.01 < number + 1.02 for number, depth in enumerate(depths))
    assert list(depths) == sorted(depths)


@given(st.integers(), st.sampled_from(["en", "zh"]), st.integers(1, 20))
def test_no_name_is_part_of_another(seed, language, count):
    names = draw_people(draws(seed), language, count)
    assert not any(one != other and one in other for one in names for other in names)
    assert len(set(names)) == count
