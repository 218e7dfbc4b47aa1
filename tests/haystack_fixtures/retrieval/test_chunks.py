"""Chunks: what holds of every text, and where they break."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.retrieval.search import Chunking, chunk_spans, chunking
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.strategies import texts

rules = st.integers(1, 80).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def check_spans(text, spans):
    """Together they are the whole text, each reaches beyond the one before."""
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start < next_start <= end < next_end


@given(texts().filter(bool), rules)
def test_chunks_are_all_of_the_text_and_none_is_longer_than_asked(text, rule):
    size, overlap = rule
    spans = chunk_spans(text, Chunking(size, overlap, "characters"))
    check_spans(text, spans)
    assert all(0 < end - start <= size for start, end in spans)
    assert all(before[1] - after[0] <= overlap for before, after in pairwise(spans))


@given(texts().filter(bool), rules)
def test_sizes_in_tokens_hold_too(text, rule):
    size, overlap = rule
    starts = load_tokenizer("o200k_base").encode(text).starts
    spans = chunk_spans(text, Chunking(size, overlap, "tokens"), starts)
    check_spans(text, spans)

    def tokens(start, end):
        """Tokens that stand in these characters, at least partly."""
        ends = np.append(starts[1:], len(text))
        # Tokens that share a character stand there together.
        ends = np.where(ends == starts, starts + 1, ends)
        return int(np.sum((starts < end) & (ends > start))) if start < end else 0

    for start, end in spans:
        assert end == start + 1 or tokens(start, end) <= size
    for before, after in pairwise(spans):
        assert tokens(after[0], before[1]) <= overlap


def pieces(text, size, overlap=0):
    return [text[start:end] for start, end in chunk_spans(text, Chunking(size, overlap, "characters"))]


def test_a_chunk_ends_with_a_paragraph_before_a_line_a_sentence_a_word():
    assert pieces("One two.\nThree four.\n\nFive six.", 28) == ["One two.\nThree four.\n\n", "Five six."]
    assert pieces("One two. Three four.\nFive six.", 26) == ["One two. Three four.\n", "Five six."]
    assert pieces("One two. Three four. Five six.", 26) == ["One two. Three four. ", "Five six."]
    assert pieces("One two three four five six", 20) == ["One two three four ", "five six"]
    assert pieces("Onetwothreefour", 10) == ["Onetwothre", "efour"]


def test_no_chunk_splits_a_character_as_people_see_it():
    for piece in pieces("e\u0301" * 30, 7):
        assert len(piece) % 2 == 0


def test_sizes_are_characters_or_tokens():
    assert chunking("1000", "200") == Chunking(1000, 200, "characters")
    assert chunking("1024t", "0") == Chunking(1024, 0, "tokens")
    assert chunking("512t", "64t") == Chunking(512, 64, "tokens")


@pytest.mark.parametrize(
    ("size", "overlap", "said"),
    [
        ("100", "200", "--chunk-overlap: '200': must be below --chunk-size 100: use at most 99"),
        ("0", "0", "--chunk-size: '0'"),
        ("many", "0", "--chunk-size: 'many'"),
        ("1000", "20t", "give both in one unit"),
        ("1000", "-1", "--chunk-overlap: '-1'"),
    ],
)
def test_what_is_no_size_is_told_in_one_line(size, overlap, said):
    with pytest.raises(InputError, match=re.escape(said)):
        chunking(size, overlap)
