"""What is found about pairs without a model."""

from __future__ import annotations

from typing import Any

import pytest

from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument
from needlework.results.questions.evidence import Checked, DocumentIndex, check_rows

TEXTS = {
    "owl.txt": "The barn owl of Kells weighs three stone. It was bought in 1912 by Ada Byrne of Dublin.",
    "owl-copy.txt": "The barn owl of Kells weighs three stone. It was bought in 1912, by Ada Byrne of Dublin!",
    "bat.txt": "The bat of Kells weighs four stone and was bought in 1907 by Tom Daly.",
    "byrne.txt": "Ada Byrne of Dublin collected clocks. She never saw an owl, but bought a barn in Kells.",
    "zh.txt": "凯尔斯的猫头鹰重三石，是一九一二年由艾达买下的。",
}
FOUND = DocumentSet(tuple(OwnDocument(name, text) for name, text in sorted(TEXTS.items())), "hash", ())
OWL = {"question": "What does the barn owl of Kells weigh?", "answer": "three stone", "answer_doc": "owl.txt"}


def check(rows: dict[str, dict[str, Any]], max_other: int = 0) -> dict[str, Checked]:
    return {
        each.key: each
        for each in check_rows(rows, FOUND, twins(FOUND.documents), DocumentIndex(FOUND.documents), max_other)
    }


def kinds(row: dict[str, Any], **changed: Any) -> list[tuple[str, str]]:
    found = check({"0": row | changed})["0"]
    return [(reason.status, reason.kind) for reason in found.reasons]


def test_a_good_pair_is_accepted_and_its_twins_are_named() -> None:
    found = check({"0": OWL})["0"]

    assert (found.status, found.reasons) == ("accept", ())
    assert found.facts == {"support": 1.0, "also_in": [], "twins": ["owl-copy.txt"]}


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"question": " "}, ("reject", "nothing to ask")),
        ({"answer": ""}, ("reject", "nothing to ask")),
        ({"answer_doc": "absent.txt"}, ("reject", "no such document")),
        ({"answer": "purple"}, ("reject", "not supported")),
        ({"answer": "three kilos and purple"}, ("review", "hardly supported")),
        ({"answer": "three stone " * 13}, ("review", "answer too long")),
        ({"supporting_docs": ["absent.txt"]}, ("review", "no such supporting document")),
    ],
)
def test_what_is_wrong_with_a_pair_alone(changed: dict[str, Any], kind: tuple[str, str]) -> None:
    assert kinds(OWL, **changed) == [kind]


def test_an_answer_beside_the_questions_words_in_another_document_is_ambiguous() -> None:
    row = {"question": "Who bought the barn owl in Kells?", "answer": "Ada Byrne", "answer_doc": "owl.txt"}
    found = check({"0": row})["0"]

    assert found.facts["also_in"] == ["byrne.txt"]
    assert [str(reason) for reason in found.reasons] == [
        "ambiguous: the answer stands beside the question's words in 'byrne.txt' too"
    ]
    assert check({"0": row}, max_other=1)["0"].status == "accept"
    assert kinds(row, supporting_docs=["byrne.txt"]) == []


def test_an_answer_in_a_document_about_something_else_is_not_ambiguous() -> None:
    row = {"question": "When was the bat sold to Tom Daly?", "answer": "Kells", "answer_doc": "bat.txt"}
    assert kinds(row) == []


def test_an_answer_of_words_that_every_text_has_is_looked_for_too() -> None:
    row = {"question": "Who collected clocks?", "answer": "she", "answer_doc": "byrne.txt"}
    assert kinds(row) == []
    assert kinds(row, answer="yourself") == [("reject", "not supported")]


def test_an_alias_supports_and_competes() -> None:
    row = {**OWL, "answer": "42 pounds", "aliases": ["three stone"]}
    assert kinds(row) == []


def test_what_supporting_documents_say_supports() -> None:
    row = {"question": "Who bought it, and what else?", "answer": "Tom Daly; clocks", "answer_doc": "bat.txt"}
    assert check({"0": row})["0"].facts["support"] == 0.6667
    assert check({"0": row | {"supporting_docs": ["byrne.txt"]}})["0"].facts["support"] == 1.0


def test_the_same_question_twice() -> None:
    other = {**OWL, "question": "what does the barn owl of kells weigh", "answer_doc": "owl-copy.txt"}
    elsewhere = {**OWL, "answer": "four stone", "answer_doc": "bat.txt"}

    found = check({"a": OWL, "b": other, "c": elsewhere})

    assert [str(each) for each in found["a"].reasons] == ["asked of other documents: the same question is 'c'"]
    assert [str(each) for each in found["b"].reasons] == [
        "asked twice: the same question about the same document is 'a'"
    ]
    assert [str(each) for each in found["c"].reasons] == ["asked of other documents: the same question is 'a', 'b'"]


def test_chinese_is_checked_by_characters() -> None:
    row = {"question": "凯尔斯的猫头鹰有多重？", "answer": "三石", "answer_doc": "zh.txt"}
    assert kinds(row) == []
    assert kinds(row, answer="五斤") == [("reject", "not supported")]
    assert ("review", "answer too long") in kinds(row, answer="三石" * 31)
