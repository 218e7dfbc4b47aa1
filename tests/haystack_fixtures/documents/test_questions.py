"""Questions on documents: files, as published and with more in a row, and sentences with a gap."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.questions import (
    GAP,
    gap_questions,
    gap_rows,
    question_file,
    read_question_set,
    read_rows,
)
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument, read_documents
from needlework.haystack_fixtures.tasks.catalogue import grid

ROW = {"question": "What do owls eat?", "answer": "mice", "answer_doc": "owls.txt"}


@pytest.fixture
def write(tmp_path):
    """Write a file of questions, an object or a text as it is."""

    def build(content):
        path = tmp_path / "questions.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return build


def test_the_published_format_is_read_and_a_row_may_have_more(write):
    more = {"answer": ["mice", " "], "aliases": ["rodents", 2, "mice"], "supporting_docs": ["b.txt"], "topic": "x"}
    found = read_question_set(write({"0": ROW, "7": {**ROW, **more}}))
    plain, rich = found.questions
    assert (plain.key, plain.answers, plain.document) == ("0", ("mice",), "owls.txt")
    assert (rich.key, rich.answers, rich.supporting) == ("7", ("mice", "rodents", "2"), ("b.txt",))
    assert rich.extra == {"topic": "x"}
    assert len(found.sha256) == 64


def test_rejected_rows_are_not_asked_and_a_person_has_the_last_word(write):
    def row(status, decision=None):
        return {**ROW, "status": status, **({"decision": {"status": decision, "by": "ann"}} if decision else {})}

    decided = {"c": row("reject", "accept"), "d": row("accept", "reject"), "e": {"question": "", "status": "reject"}}
    found = read_question_set(write({"a": row("accept"), "b": row("reject"), **decided}))
    assert [each.key for each in found.questions] == ["a", "c"]
    assert (found.reviewed, read_question_set(write(decided)).reviewed) == (False, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not json", "is not JSON"),
        ("[]", "is JSON of another layout"),
        ('{"data": []}', "is JSON of another layout"),
        ('{"0": {}, "0": {}}', "the key '0' stands there twice"),
        ("{}", "has no question that may be asked"),
        ({"3": {**ROW, "question": " "}}, "row '3' has no question"),
        ({"3": {**ROW, "answer": True}}, "row '3' has no answer"),
        ({"3": {**ROW, "answer_doc": None}}, "row '3' has no answer_doc"),
        ({"3": {**ROW, "status": "rejct"}}, "row '3' has the status 'rejct': use accept, review, reject"),
        ({"3": {**ROW, "status": "accept", "decision": {"status": "Reject"}}}, "row '3' has the status 'Reject': use"),
    ],
)
def test_what_cannot_be_asked_is_named_in_one_line(write, content, said):
    with pytest.raises(InputError, match=rf"\A--questions: .*{re.escape(said)}"):
        read_question_set(write(content))


@pytest.mark.parametrize("path", ["absent.json", "a\0b", ".", "a" * 300, "/dev/zero"])
def test_a_file_that_cannot_be_read_is_refused(path):
    with pytest.raises(InputError, match=r"--questions: .*cannot be read"):
        read_question_set(path)


def test_questions_are_remembered_until_the_file_changes(write):
    path = write({"0": ROW})
    first = read_question_set(path)
    assert read_question_set(path) is first
    assert read_question_set(write({"0": {**ROW, "answer": "mice and voles"}})).sha256 != first.sha256


def test_rows_are_written_as_they_were_read(write, tmp_path):
    rows = {"0": {**ROW, "question": "猫头鹰吃什么？", "more": [1, {"x": None}]}, "1": {**ROW, "answer": "\ud800"}}
    (tmp_path / "again.json").write_bytes(question_file(rows))
    assert read_rows(str(tmp_path / "again.json"))[0] == rows


OWL = "The barn owl of Kells was bought in the spring of 1921 by Ada Byrne, who lived beside the mill."
BAT = "Nobody in the village knew that the bat had flown over from Castle Ward in a single stormy night."
FOX = "张飞大怒，手持丈八蛇矛，立马于《长坂桥》之上，大喝三声，曹军无人敢近，尽皆后退而去。"


def documents(**texts):
    found = tuple(OwnDocument(f"{name}.txt", text) for name, text in sorted(texts.items()))
    return DocumentSet(found, str(hash(tuple(texts.items()))), ())


def test_a_number_before_a_name_before_a_word():
    found = gap_questions(documents(owl=OWL, bat=BAT, fox=FOX), ()).questions
    assert {each.document: each.answers for each in found} == {
        "owl.txt": ("1921",),
        "bat.txt": ("Castle Ward",),
        "fox.txt": ("长坂桥",),
    }
    owl = next(each for each in found if each.document == "owl.txt")
    assert OWL.replace("1921", GAP) in owl.question
    assert "这样一句话" in next(each for each in found if each.document == "fox.txt").question


def test_a_sentence_of_two_documents_is_not_asked_about():
    rows = gap_rows(documents(owl=f"{OWL} {BAT}", bat=f"{BAT}\n\nIt is told to this day, in many houses."), (), None)
    assert [row["answer_doc"] for row in rows.values()] == ["owl.txt"]
    assert rows["0"]["answer"] == "1921"
    # Headings are no part of a sentence.
    broken = f"Step 1: Look\n{BAT[:-1]}\nor on the\nday after it was seen in 1921."
    assert gap_rows(documents(owl=broken), (), None) == {}


def test_where_no_sentence_will_do_it_is_told(folder):
    given = {"preset": "own-documents", "documents": str(folder({"owl.txt": "Too short."}))}
    with pytest.raises(InputError, match=r"--documents: .*no sentence to make a question of"):
        grid(resolve_settings(given, {}, Path()))


def test_of_twins_the_first_is_asked_about(folder):
    text = " ".join((OWL, BAT))
    found = read_documents(str(folder({"a.txt": text, "b.txt": text.upper(), "c.txt": FOX})))
    assert {row["answer_doc"] for row in gap_rows(found, twins(found.documents), None).values()} <= {"a.txt", "c.txt"}


@given(st.lists(st.sampled_from((OWL, BAT, FOX, "A note.")), min_size=1, max_size=8), st.integers(0, 3))
def test_the_answer_stands_in_the_sentence_of_its_document_and_not_in_the_question(texts, seed):
    found = documents(**{f"d{at}": f"{text} {at}" for at, text in enumerate(texts)})
    rows = gap_rows(found, (), None, seed=seed)
    assert rows == gap_rows(found, (), None, seed=seed)
    for row in rows.values():
        text = next(each.text for each in found.documents if each.name == row["answer_doc"])
        assert row["answer"] in text
        assert row["question"].count(GAP) == 2
        assert row["answer"] not in row["question"]
