"""The shingles of a text, against the same done word by word."""

from __future__ import annotations

import regex
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.documents.near_copies import SHINGLE, shingles_of

WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}]|[[\p{L}\p{N}\p{M}_]--[\p{Han}\p{Hiragana}\p{Katakana}]]+", regex.V1
)
TEXTS = st.text(st.sampled_from("aAb1_é\u0301猫のタ,. \n-٣\U00020000") | st.characters(), max_size=40)


def by_words(text: str) -> set[tuple[str, ...]]:
    words = WORD.findall(text.casefold()) or [text.casefold()]
    return {tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))}


@given(TEXTS, TEXTS)
def test_texts_share_as_many_shingles_as_they_have_words_in_a_row_in_common(one: str, other: str) -> None:
    first, second = set(shingles_of(one).tolist()), set(shingles_of(other).tolist())

    assert len(first) == len(by_words(one))
    assert len(first & second) == len(by_words(one) & by_words(other))


def test_shingles_are_sorted_and_do_not_depend_on_what_stands_around_the_words() -> None:
    found = shingles_of("The owl sleeps by day, and the owl flies by night.").tolist()

    assert found == sorted(set(found))
    assert found == shingles_of(" …the OWL sleeps\nby day - and the owl flies by night").tolist()


def test_latin_words_in_text_without_spaces_are_words() -> None:
    assert shingles_of("用GPT模型").tolist() == shingles_of("用 GPT 模型").tolist()
