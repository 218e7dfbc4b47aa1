"""The words of a text."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.documents.text_files import is_unspaced, pairs_of, word_runs


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("The ferry_boat's ＡＢＣ, 1,234!", ["the", "ferry", "boat", "s", "abc", "1", "234"]),
        ("cafe\u0301 Straße हिन्दी", ["café", "strasse", "हिन्दी"]),
        ("用GPT模型，カタカナ2号", ["用", "gpt", "模型", "カタカナ", "2", "号"]),
        ("… _", []),
    ],
)
def test_the_words_of_a_text(text: str, runs: list[str]) -> None:
    assert word_runs(text) == runs


@given(st.text(st.sampled_from("aZ1_é\u0301猫の,. \n٣") | st.characters()))
def test_every_letter_and_digit_is_in_a_run_and_none_is_of_two_kinds(text: str) -> None:
    runs = word_runs(text)

    folded = unicodedata.normalize("NFKC", text).casefold()
    assert "".join(runs) == "".join(char for char in folded if char != "_" and regex.match(r"\w", char))
    assert all(is_unspaced(char) == is_unspaced(run) for run in runs for char in run)


def test_pairs_of_neighbours() -> None:
    assert pairs_of("梨树在") == ["梨树", "树在"]
    assert pairs_of("梨") == []
