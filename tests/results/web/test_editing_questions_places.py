"""Where a document gives an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.web.question_pairs import (
    MOST_PLACES,
    find_answer,
    literal_places,
    nearest_passage,
    utf16_places,
)


@pytest.mark.parametrize(
    ("text", "answers", "found"),
    [
        ("Built in 1874. In 1874?", ["1874"], ["1874", "1874"]),
        ("They paid 1,234 and 41234 crowns.", ["1234"], ["1,234"]),
        ("MARA\n  VOSS and Voss", ["Mara Voss", "Voss"], ["MARA\n  VOSS", "Voss"]),
        ("The keeper’s cat, a “grey” one", ["keeper's cat", '"grey"'], ["keeper’s cat", "grey"]),
        ("A category, a cat.", ["Cat."], ["cat"]),
        ("守塔人养了一 只猫。", ["一只猫"], ["一 只猫"]),
        ("at 74°C (165°F) or more", ["74°C (165°F)"], ["74°C (165°F)"]),
        ("nothing of it", ["", " . "], []),
    ],
)
def test_places_that_say_the_answer(text: str, answers: list[str], found: list[str]) -> None:
    assert [text[start:end] for start, end in literal_places(text, answers)] == found


def test_an_answer_that_is_everywhere_is_not_listed_without_end() -> None:
    found = find_answer("a " * 2000, ("a",))

    assert found.literal
    assert found.more
    assert len(found.places) == MOST_PLACES


def test_the_nearest_passage_has_the_words_and_not_more_than_it_needs() -> None:
    text = "Storms came. The keeper was old. She kept a cat.\nThe cat was grey! Far away a keeper slept."
    recall, (start, end) = nearest_passage(text, "the keeper kept a grey cat") or (0, (0, 0))

    assert recall == 1
    assert text[start:end] == "The keeper was old. She kept a cat.\nThe cat was grey!"
    assert nearest_passage(text, "submarine") is None


def test_a_chinese_passage_is_a_sentence() -> None:
    text = "灯塔很高。守塔人在塔里养了一只灰色的猫。海很静。"
    _, (start, end) = nearest_passage(text, "养着灰色猫") or (0, (0, 0))

    assert text[start:end] == "守塔人在塔里养了一只灰色的猫。"


@given(st.text(), st.lists(st.text(max_size=8), max_size=3))
def test_a_place_lies_in_the_text(text: str, answers: list[str]) -> None:
    found = find_answer(text, tuple(answers))

    assert all(0 <= start < end <= len(text) for start, end in found.places)
    assert 0 <= found.recall <= 1


@given(st.text(), st.data())
def test_places_are_counted_as_a_browser_counts(text: str, data: st.DataObject) -> None:
    at = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    places = [(at[0], at[1]), (at[2], at[3])]
    units = text.encode("utf-16-le", "surrogatepass")
    cut = [units[2 * a : 2 * b].decode("utf-16-le", "surrogatepass") for a, b in utf16_places(text, places)]

    assert cut == [text[a:b] for a, b in places]
