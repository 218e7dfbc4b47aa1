"""Documents by their words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.documents.readers import OwnDocument
from needlework.results.questions.evidence import DocumentIndex
from needlework.scoring.content_words import content_words

TEXTS = ("The owl weighs 1,250 kg, not more.", "Owls weighed here", "一种GPT3大语言模型", "हिन्दी भाषा", "")
INDEX = DocumentIndex([OwnDocument(f"d{number}", text) for number, text in enumerate(TEXTS)])


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("owl", [0, 1]),
        ("1250 kg", [0]),
        ("not", [0]),
        ("大语言模型", [2]),
        ("gpt3", [2]),
        ("हिन्दी", [3]),
        ("zebra", []),
        ("模", [0, 1, 2, 3, 4]),
        ("", [0, 1, 2, 3, 4]),
    ],
)
def test_the_documents_that_have_an_answers_words(answer: str, numbers: list[int]) -> None:
    assert INDEX.having(answer) == numbers


def test_support_is_of_the_best_answer_in_all_documents_together() -> None:
    assert INDEX.support(["owl and zebra"], [0]) == 0.5
    assert INDEX.support(["weighed 1250 kg here"], [0, 1]) == 1
    assert INDEX.support(["zebra", "owls"], [1]) == 1
    assert INDEX.support(["", "owl"], []) == 0


def test_the_likest_has_the_rarest_words() -> None:
    like = INDEX.likeness("Which owl weighs a kg?")
    assert [(each.number, each.shared, each.words) for each in like] == [(0, 3, 3), (1, 2, 3)]


@given(
    st.lists(st.text(st.sampled_from("ab 猫的模,'no"), max_size=20), max_size=6),
    st.text(st.sampled_from("ab 猫的模no")),
)
def test_all_documents_that_have_the_words_are_found(texts: list[str], answer: str) -> None:
    index = DocumentIndex([OwnDocument(str(number), text) for number, text in enumerate(texts)])
    words = {word for word in content_words(answer) if len(word) > 1 or word.isascii()}

    assert {number for number, text in enumerate(texts) if words <= content_words(text)} <= set(index.having(answer))
