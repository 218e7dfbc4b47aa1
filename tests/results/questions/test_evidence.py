"""Replies read as pairs of question and answer, and what is found about these without a model."""

import contextlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument
from needlework.results.questions.evidence import DocumentIndex, check_rows
from needlework.results.questions.make import QuestionPair, read_pairs, too_long
from needlework.scoring.plain_text import content_words

MICE = {"question": "What does the owl eat?", "answer": "mice"}
MOTHS = {"question": "What does the bat eat?", "answer": "moths", "aliases": ["night moths"]}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps([MICE, MOTHS]),
        f"Here they are:\n```json\n{json.dumps([MICE, MOTHS], indent=2)}\n```\nI hope [this] helps.",
        f"[1] I read it. {json.dumps({'items': [MICE, MOTHS]})}",
        json.dumps([MICE, MOTHS, MICE]),
    ],
)
def test_json_is_found_in_whatever_a_model_says_around_it(reply):
    assert read_pairs(reply, 2) == (
        QuestionPair("What does the owl eat?", "mice"),
        QuestionPair("What does the bat eat?", "moths", ("night moths",)),
    )


def test_one_object_is_one_pair_and_numbers_are_texts():
    assert read_pairs('{"question": " How many? ", "answer": 1912}', 1) == (QuestionPair("How many?", "1912"),)


@pytest.mark.parametrize(
    ("reply", "count", "problem"),
    [
        ("I cannot do that.", 1, "there is no JSON like"),
        ("[" * 100_000, 1, "there is no JSON like"),
        ("[5]", 1, "item 1 is no JSON object"),
        (json.dumps([MICE]), 2, "1 where 2 were asked for"),
        (json.dumps([MICE, {"question": "x"}]), 2, "item 2: `answer` is missing"),
        (json.dumps([{**MICE, "answer": " "}]), 1, "item 1: `answer` is missing"),
        (json.dumps([{**MICE, "aliases": "x"}]), 1, "item 1: `aliases` is no list"),
        (json.dumps([{**MICE, "aliases": [True]}]), 1, "item 1: an alias is missing or no text"),
        ('[{"question": "a", "answer": "\\ud800"}]', 1, "item 1: `answer` is missing or no text"),
        (json.dumps([MICE, {**MICE, "question": "what does the OWL eat?"}]), 2, "two of the questions are the same"),
        (json.dumps([{**MICE, "answer": "a mouse " * 13}]), 1, "item 1: the answer has 26 words, at most 25 words are"),
    ],
)
def test_what_is_wrong_is_said(reply, count, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_pairs(reply, count)


@given(st.text('[]{}":,\\ 1aquestionanswer'))
def test_whatever_is_said_is_pairs_or_a_value_error(reply):
    with contextlib.suppress(ValueError):
        assert len(read_pairs(reply, 1)) == 1


def test_chinese_answers_count_by_characters():
    assert too_long("猫" * 60) == too_long("one two " * 12) == ""
    assert too_long("猫" * 61) == "the answer has 61 characters, at most 60 characters are short"


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
