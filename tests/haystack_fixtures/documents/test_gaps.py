"""Questions that no model has to write: a sentence of a document with a gap."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.documents.gap_questions import GAP, gap_questions, gap_rows
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument, read_documents
from needlework.haystack_fixtures.tasks.catalogue import grid

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


def test_headings_are_no_part_of_a_sentence():
    assert (
        gap_rows(documents(owl=f"Step 1: Look\n{BAT[:-1]}\nor on the\nday after it was seen in 1921."), (), None) == {}
    )


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
