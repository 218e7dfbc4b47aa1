"""What is found about questions without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument
from needlework.results.questions.evidence import DocumentIndex, check_rows
from needlework.scoring.content_words import content_words

TEXTS = {
    "owl.txt": "The barn owl of Kells weighs three stone. It was bought in 1912 by Ada Byrne of Dublin.",
    "owl-copy.txt": "The barn owl of Kells weighs three stone. It was bought in 1912, by Ada Byrne of Dublin!",
    "bat.txt": "The bat of Kells weighs four stone and was bought in 1907 by Tom Daly.",
    "byrne.txt": "Ada Byrne of Dublin collected clocks. She never saw an owl, but bought a barn in Kells.",
    "zh.txt": "凯尔斯的猫头鹰重三石，是一九一二年由艾达买下的。",
}
FOLDER = DocumentSet(tuple(OwnDocument(name, text) for name, text in sorted(TEXTS.items())), "hash", ())
OWL = {"question": "What does the barn owl of Kells weigh?", "answer": "three stone", "answer_doc": "owl.txt"}
BOUGHT = {"question": "Who bought the barn owl in Kells?", "answer": "Ada Byrne", "answer_doc": "owl.txt"}
CHINESE = {"question": "凯尔斯的猫头鹰有多重？", "answer": "三石", "answer_doc": "zh.txt"}


def check(**rows):
    groups, index = twins(FOLDER.documents), DocumentIndex(FOLDER.documents)
    return {each.key: each for each in check_rows(rows, FOLDER, groups, index)}


def test_a_good_question_is_accepted_and_twins_of_its_document_are_named():
    checked = check(a=OWL)["a"]
    assert (checked.status, checked.reasons) == ("accept", ())
    assert checked.facts == {"support": 1.0, "also_in": [], "twins": ["owl-copy.txt"]}


@pytest.mark.parametrize(
    ("row", "changed", "reasons"),
    [
        (OWL, {"question": " "}, ["reject: nothing to ask: has no question"]),
        (OWL, {"answer": ""}, ["reject: nothing to ask: has no answer"]),
        (OWL, {"answer_doc": "absent.txt"}, ["reject: no such document: 'absent.txt' is not in the folder"]),
        (OWL, {"answer": "purple"}, ["reject: not supported"]),
        (OWL, {"answer": "three kilos and purple"}, ["review: hardly supported: 33% of"]),
        (OWL, {"answer": "three stone " * 13}, ["review: answer too long: the answer has 26 words"]),
        (OWL, {"supporting_docs": ["absent.txt"]}, ["review: no such supporting document"]),
        (OWL, {"made_from": "0" * 16}, ["review: document has changed"]),
        (OWL, {"answer": "42 pounds", "aliases": ["three stone"]}, []),
        (BOUGHT, {}, ["review: ambiguous: the answer stands beside the question's words in 'byrne.txt' too"]),
        (BOUGHT, {"supporting_docs": ["byrne.txt"]}, []),
        (BOUGHT, {"question": "When was it sold to Tom Daly?", "answer": "Kells", "answer_doc": "bat.txt"}, []),
        (BOUGHT, {"question": "Who collected clocks?", "answer": "she", "answer_doc": "byrne.txt"}, []),
        (BOUGHT, {"answer": "yourself", "answer_doc": "byrne.txt"}, ["reject: not supported"]),
        (CHINESE, {}, []),
        (CHINESE, {"answer": "五斤"}, ["reject: not supported"]),
        (CHINESE, {"answer": "三石" * 31}, ["review: hardly supported", "review: answer too long"]),
    ],
)
def test_what_is_wrong_with_a_question_alone(row, changed, reasons):
    told = [f"{reason.status}: {reason}" for reason in check(a=row | changed)["a"].reasons]
    assert len(told) == len(reasons)
    assert all(line.startswith(reason) for line, reason in zip(told, reasons, strict=True)), told


def test_supporting_documents_support():
    row = {"question": "Who bought it, and what else?", "answer": "Tom Daly; clocks", "answer_doc": "bat.txt"}
    assert check(a=row)["a"].facts["support"] == 0.6667
    assert check(a=row | {"supporting_docs": ["byrne.txt"]})["a"].facts["support"] == 1.0


def test_the_same_question_twice():
    copy = {**OWL, "question": "what does the barn owl of kells weigh", "answer_doc": "owl-copy.txt"}
    checked = check(a=OWL, b=copy, c={**OWL, "answer": "four stone", "answer_doc": "bat.txt"})
    assert [str(each) for key in "abc" for each in checked[key].reasons] == [
        "asked of other documents: the same question is 'c'",
        "asked twice: the same question about the same document is 'a'",
        "asked of other documents: the same question is 'a', 'b'",
    ]


@given(
    st.lists(st.text(st.sampled_from("ab 猫的模,'no"), max_size=20), max_size=6),
    st.text(st.sampled_from("ab 猫的模no")),
)
def test_all_documents_that_have_an_answers_words_are_found(texts, answer):
    index = DocumentIndex([OwnDocument(str(number), text) for number, text in enumerate(texts)])
    words = {word for word in content_words(answer) if len(word) > 1 or word.isascii()}
    assert {number for number, text in enumerate(texts) if words <= content_words(text)} <= set(index.having(answer))
