"""Tokens put together from pieces are those of encoding the whole text."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.haystacks.cuts import cuts_near, patched_cuts
from needlework.haystack_fixtures.haystacks.frame import PromptFrame, draft_of
from needlework.haystack_fixtures.haystacks.splice import Range, remembering, splice, text_of
from tests.haystack_fixtures.haystacks.outer import corpus_of, open_source, outer
from tests.strategies import scraps, texts


def assert_canonical(tokenizer, pieces, encode=None):
    text = text_of(pieces)
    spliced = splice(pieces, encode or remembering(tokenizer))
    found, wanted = spliced.encoded(text), tokenizer.encode(text)
    assert found.ids.tolist() == wanted.ids.tolist()
    assert found.starts.tolist() == wanted.starts.tolist()
    assert spliced.count == len(wanted.ids)


@st.composite
def cut_up(draw, length):
    start, end = sorted((draw(st.integers(0, length)), draw(st.integers(0, length))))
    return start, end


@given(data=st.data())
def test_any_pieces_of_odd_text(tokenizer, data):
    sources = [tokenizer.encode(text) for text in data.draw(st.lists(texts(120), min_size=1, max_size=2))]
    pieces = []
    for _ in range(data.draw(st.integers(1, 5))):
        if data.draw(st.booleans()):
            pieces.append(data.draw(scraps))
        else:
            source = data.draw(st.sampled_from(sources))
            pieces.append(Range(source, *data.draw(cut_up(len(source.text)))))
    assert_canonical(tokenizer, pieces)


@pytest.mark.parametrize("unit", ["a", "ab", "1", " ", "\n", "=", "你", "👩", "e\u0301", "aA1 "])
def test_long_runs_that_hold_no_landmark(tokenizer, unit):
    source = tokenizer.encode(unit * 1500)
    size = len(unit)
    cuts = [(0, 700), (1, 333), (7, 1400), (700, 1500)]
    assert_canonical(tokenizer, [Range(source, start * size, end * size) for start, end in cuts])
    assert_canonical(tokenizer, ["x", Range(source, size, 1000 * size), "7", Range(source, 0, 900 * size)])


def test_only_windows_are_encoded(tokenizer):
    source = tokenizer.encode("She asked whether the ferry would still run in the morning. " * 2000)
    encoded = []

    def counting(text):
        encoded.append(text)
        return tokenizer.encode(text)

    stretches = Range(source, 0, 50_000), Range(source, 50_000, 110_000)
    splice(["Read this: ", stretches[0], " A needle. ", stretches[1], " Why?"], counting)
    assert sum(map(len, encoded)) < 3000


def test_a_cut_is_counted_as_its_whole_prompt_is_encoded(tokenizer, tmp_path):
    text = "".join(
        f"Ferry {n} left at {n % 24}:05, or so they said{'; nobody knew' * (n % 3)}.{(' ', chr(10) * 2)[n % 7 == 0]}"
        for n in range(300)
    )
    source = open_source(corpus_of(text), tokenizer, seed=0, repeat=0, min_tokens=2000, cache_dir=tmp_path)
    needles = (("a", "The pilot's code is 7319."), ("b", "The cook's code is 4402."))
    for depths in ((0.0, 100.0), (30.0, 31.0), (60.0, 60.0)):
        outer_text = replace(outer(tokenizer, "Read.\n", "\nWhich?", 900), bos=())
        frame = PromptFrame(outer_text, source, needles, depths)
        for cuts in (
            cuts_near(source, 900, reach=10, any_grapheme=False),
            cuts_near(source, 900, reach=5, any_grapheme=True),
            patched_cuts(source, 900),
        ):
            for number in range(len(cuts.tokens)):
                cut = cuts.cut(number)
                draft = draft_of(frame, cut)
                assert draft.count == len(tokenizer.encode(text_of(draft.pieces)).ids)
