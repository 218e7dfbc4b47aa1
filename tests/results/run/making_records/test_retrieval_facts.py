"""How much of an answer was retrieved: words of the reference that the documents have."""

import pytest

from needlework.results.run.record_builder import answer_recall

DOCUMENT = "The ferry ran on Thursdays only. The pear tree stood behind the mill."


@pytest.mark.parametrize(
    ("answer", "context", "recall"),
    [
        ("The ferry ran on Thursdays.", "The ferry ran on Thursdays only.", 1.0),
        ("The ferry ran on Thursdays.", "The ferry was late.", 0.3333),
        ("The ferry ran on Thursdays.", "Nothing.", 0.0),
        ("The ferry, said Hale", "The ferry.", 1.0),  # the documents do not have Hale either
        ("Nobody knows", DOCUMENT, None),
        ("", DOCUMENT, None),
    ],
)
def test_words_are_those_of_the_answer_that_the_documents_have(answer, context, recall):
    assert answer_recall(answer, [DOCUMENT, "Another text."], context) == recall


def test_chinese_counts_too():
    assert answer_recall("渡船只在星期四开", ["渡船只在星期四开。"], "渡船只在星期四开。") == 1.0
