"""Cues: whether a text has one is told sooner than by looking for each, and told the same."""

from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.match.normalize import MARK, table
from needlework.scoring.match.polarity import any_of, has_any, known_words, vocabulary

_KINDS = ("not_before", "not_after", "retract", "suppose", "refuse")
_SIGNS = [MARK, ".", ",", "(", "n't", "not", "no", "不", "没有", "错"]
_WORDS = st.sampled_from([*sorted(vocabulary()), *sorted(known_words()), *_SIGNS])


@given(st.lists(_WORDS, max_size=8), st.sampled_from([" ", ""]))
def test_a_text_has_a_phrase_where_one_is_found(words, between):
    text = between.join(words)
    assert has_any(text, _KINDS) is (any_of(_KINDS).search(text) is not None)


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_a_phrase_of_a_script_without_spaces_has_a_sign_of_it(language):
    """Texts without one are not searched for such phrases."""
    phrases = [phrase for row in tomllib.loads(table("cues.toml"))[language].values() for phrase in row]

    assert phrases
    assert [phrase for phrase in phrases if not re.search("[\u3001-\u9fff]", phrase)] == []
