"""A row of a questions file, and the pair in it that is reviewed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.documents.questions import question_of
from needlework.results.web.question_pairs import (
    ReviewedPair,
    changed_fields,
    fingerprint,
    pair_from,
    pair_json,
    pair_of,
    with_pair,
)

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).map(str.strip).filter(bool)
ANSWERS = st.lists(TEXTS, min_size=1, max_size=4, unique=True)
ROWS = st.fixed_dictionaries(
    {"question": TEXTS, "answer": TEXTS | ANSWERS | st.integers(), "answer_doc": TEXTS},
    optional={
        "aliases": st.lists(TEXTS, max_size=3),
        "supporting_docs": st.lists(TEXTS, max_size=3),
        "status": st.sampled_from(["accept", "review", "reject"]),
        "anything": st.dictionaries(st.text(max_size=3), st.none() | st.floats(allow_nan=False) | st.text(max_size=3)),
    },
)
PAIRS = st.builds(
    ReviewedPair,
    question=TEXTS,
    answers=ANSWERS.map(tuple),
    document=TEXTS,
    supporting=st.lists(TEXTS, max_size=3, unique=True).map(tuple),
)


@given(ROWS)
def test_a_row_with_its_own_pair_is_the_row(row: dict[str, object]) -> None:
    assert with_pair(row, pair_of(row)) == row


@given(ROWS, PAIRS)
def test_an_edited_row_says_the_new_pair_and_keeps_every_other_field(
    row: dict[str, object], pair: ReviewedPair
) -> None:
    edited = with_pair(row, pair)

    assert pair_of(edited) == pair
    of_the_pair = {"question", "answer", "aliases", "answer_doc", "supporting_docs"}
    assert {k: v for k, v in edited.items() if k not in of_the_pair} == {
        k: v for k, v in row.items() if k not in of_the_pair
    }
    if not changed_fields(pair_of(row), pair):
        assert edited == row


@given(ROWS)
def test_a_run_reads_the_pair_that_was_reviewed(row: dict[str, object]) -> None:
    asked, pair = question_of("0", row), pair_of(row)

    assert (asked.question, asked.answers, asked.document) == (pair.question, pair.answers, pair.document)


@given(PAIRS)
def test_a_pair_comes_back_from_the_page_as_it_was(pair: ReviewedPair) -> None:
    assert pair_from(pair_json(pair)) == pair


def test_facts_of_the_check_do_not_change_what_was_decided_on() -> None:
    row = {"question": "Where?", "answer": "here", "answer_doc": "a.txt"}

    assert fingerprint(pair_of({**row, "status": "review", "support": 0.5})) == fingerprint(pair_of(row))
    assert fingerprint(pair_of({**row, "answer": "there"})) != fingerprint(pair_of(row))


def test_a_broken_row_can_be_shown() -> None:
    assert pair_of({"question": None, "answer": [], "answer_doc": 3}) == ReviewedPair()


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"question": " ", "answers": ["a"], "document": "d"}, "question is empty"),
        ({"question": "q", "answers": [" "], "document": "d"}, "answer is empty"),
        ({"question": "q", "answers": ["a"], "document": ""}, "document is empty"),
        ({"question": "q", "answers": "a", "document": "d"}, "lists"),
        ({"question": "q" * 20_001, "answers": ["a"], "document": "d"}, "longer"),
        (None, "question is empty"),
    ],
)
def test_what_cannot_be_asked_is_refused(said: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        pair_from(said)
