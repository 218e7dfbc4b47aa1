"""Other documents that might answer a question."""

from __future__ import annotations

import pytest

from needlework.haystack_fixtures.documents.readers import OwnDocument
from needlework.results.questions.evidence import DocumentIndex
from needlework.results.web.question_files import Later
from needlework.results.web.question_pairs import competitors, holding
from tests.results.web.editing_questions_site import DOCUMENTS

NAMES = sorted(DOCUMENTS)
INDEX = DocumentIndex([OwnDocument(name, DOCUMENTS[name]) for name in NAMES])


@pytest.mark.parametrize(
    ("answers", "holders"),
    [
        (["1874"], ["copy of harbour.txt", "harbour.txt", "mills.txt"]),
        (["mara voss"], ["copy of harbour.txt", "harbour.txt", "letters.txt"]),
        (["猫"], ["灯塔.txt"]),
        (["一只猫"], ["灯塔.txt"]),
        (["too"], ["mills.txt"]),
        (["cats"], []),
        (["storms", "mill"], ["letters.txt", "mills.txt"]),
    ],
)
def test_the_documents_that_say_an_answer(answers: list[str], holders: list[str]) -> None:
    assert [NAMES[number] for number in holding(INDEX, answers)] == holders


def test_the_likest_documents_share_the_rarest_words() -> None:
    like = INDEX.likeness("What did the keeper of the lighthouse write in a letter?")

    assert NAMES[like[0].number] == "letters.txt"
    assert (like[0].shared, like[0].words) == (4, 4)
    assert INDEX.likeness("zebra") == []


def test_competitors_say_why_the_checks_first() -> None:
    harbour, mills = NAMES.index("harbour.txt"), NAMES.index("mills.txt")
    twin = NAMES.index("copy of harbour.txt")
    found = competitors(INDEX, "When was the lighthouse built?", ["1874"], own={harbour, twin}, named=[mills])

    assert [(NAMES[each.number], each.why) for each in found.listed] == [
        ("mills.txt", "check"),
        ("letters.txt", "like"),
    ]
    assert found.holders == 1


def test_what_is_made_later_is_there_or_says_why_not() -> None:
    assert Later(lambda: 7).get(None) == 7
    with pytest.raises(ZeroDivisionError):
        Later(lambda: 1 / 0).get(None)
