"""BM25: the words of a text, and which chunk comes first."""

import numpy as np
import pytest

from needlework.haystack_fixtures.retrieval.search import bm25_index, search_words

pytest.importorskip("bm25s")
CHUNKS = [
    "The ferry ran on Thursdays only.",
    "The pear tree stood behind the mill.",
    "梨树在磨坊后面。",
    "渡船只在星期四开。",
]


def best(question):
    return int(np.argmax(bm25_index(CHUNKS)(question)))


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("When did the ferry run?", 0),
        ("Which TREE was behind the mill?", 1),
        ("梨树在哪里？", 2),
        ("渡船什么时候开？", 3),
    ],
)
def test_the_chunk_that_shares_the_words_comes_first(question, place):
    assert best(question) == place


def test_words_fold_case_and_forms_and_take_chinese_by_pairs():
    assert search_words("The Ferry\u2019s ﬁre, ＡＢＣ!") == ["the", "ferry", "s", "fire", "abc"]
    assert search_words("梨树在") == ["梨", "树", "在", "梨树", "树在"]


def test_a_question_without_known_words_finds_nothing_better_than_the_rest():
    assert bm25_index(CHUNKS)("xyzzy ?!").tolist() == [0, 0, 0, 0]
    assert bm25_index(["!!", "..."])("ferry").tolist() == [0, 0]


def test_equal_chunks_have_equal_scores():
    scores = bm25_index([*CHUNKS, *CHUNKS])("ferry on Thursdays")
    assert scores[:4].tolist() == scores[4:].tolist()
