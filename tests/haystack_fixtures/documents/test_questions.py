"""Files of questions, as published and with more in a row."""

import json

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.questions import question_file, read_question_set, read_rows

ROW = {"question": "What do owls eat?", "answer": "mice", "answer_doc": "owls.txt"}


@pytest.fixture
def write(tmp_path):
    """Write a file of questions, an object or a text as it is."""

    def build(content):
        path = tmp_path / "questions.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return build


def test_the_published_format_is_read_as_it_is(write):
    found = read_question_set(write({"0": ROW, "7": {**ROW, "answer": "voles"}}))
    assert [(each.key, each.answers, each.document) for each in found.questions] == [
        ("0", ("mice",), "owls.txt"),
        ("7", ("voles",), "owls.txt"),
    ]
    assert len(found.sha256) == 64
    assert not found.reviewed


def test_a_row_may_have_more(write):
    row = {
        **ROW,
        "answer": ["mice", " "],
        "aliases": ["rodents", 2, "mice"],
        "supporting_docs": ["b.txt"],
        "topic": "x",
    }
    [found] = read_question_set(write({"0": row})).questions
    assert found.answers == ("mice", "rodents", "2")
    assert found.supporting == ("b.txt",)
    assert found.extra == {"topic": "x"}


@pytest.mark.parametrize(
    ("row", "said"),
    [({"status": "rejct"}, "rejct"), ({"status": "accept", "decision": {"status": "Reject"}}, "Reject")],
)
def test_a_status_that_is_none_is_told_with_its_row(write, row, said):
    with pytest.raises(InputError, match=f"row 'a' has the status '{said}': use accept, review, reject"):
        read_question_set(write({"a": {**ROW, **row}}))


def test_rejected_rows_are_not_asked_and_a_person_has_the_last_word(write):
    rows = {
        "a": {**ROW, "status": "accept"},
        "b": {**ROW, "status": "reject"},
        "c": {**ROW, "status": "reject", "decision": {"status": "accept", "by": "ann"}},
        "d": {**ROW, "status": "accept", "decision": {"status": "reject", "by": "ann"}},
        "e": {"question": "", "status": "reject"},
    }
    assert [each.key for each in read_question_set(write(rows)).questions] == ["a", "c"]


def test_a_file_is_reviewed_where_a_person_decided_on_all_that_is_asked(write):
    decided = {**ROW, "decision": {"status": "accept", "by": "ann"}}
    assert not read_question_set(write({"a": decided, "b": ROW})).reviewed
    assert read_question_set(write({"a": decided, "b": {**ROW, "status": "reject"}})).reviewed


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not json", "is not JSON"),
        ("[]", "is JSON of another layout"),
        ('{"data": []}', "is JSON of another layout"),
        ('{"0": {}, "0": {}}', "the key '0' stands there twice"),
        ("{}", "has no question that may be asked"),
        ({"3": {**ROW, "question": " "}}, "row '3' has no question"),
        ({"3": {**ROW, "answer": []}}, "row '3' has no answer"),
        ({"3": {**ROW, "answer": True}}, "row '3' has no answer"),
        ({"3": {**ROW, "answer_doc": None}}, "row '3' has no answer_doc"),
    ],
)
def test_what_cannot_be_asked_is_named_in_one_line(write, content, said):
    with pytest.raises(InputError) as caught:
        read_question_set(write(content))
    assert str(caught.value).startswith("--questions: ")
    assert said in str(caught.value)


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
