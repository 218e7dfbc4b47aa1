"""Haystack sources: sentence ends in many scripts, seeded order, the cache; tokens of pieces are those of the whole."""

from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.haystacks.sentences import sentence_ends
from needlework.haystack_fixtures.haystacks.splice import Range, remembering, splice, text_of
from tests.haystack_fixtures.haystacks.outer import corpus_of, open_source
from tests.strategies import scraps, texts


def split(text):
    """The sentences of text, white space between them taken off."""
    ends = sentence_ends(text).tolist()
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("sentences", "joiner"),
    [
        (["It rained.", "Nobody went out!", "Would you?", "Well...", "No."], " "),
        (['She said "Yes."', "(He left.)", "“Why?!”", "Then ‘it’ ended.’"], " "),
        (["Mr. Hale and Dr. J. R. Roe met, e.g. on Fig. 3, at 3.5 p.m. sharp.", "They left the U.S. in May."], " "),
        (['"Really?" he said.', "I think... maybe not."], " "),
        (["他说：“你好。”", "然后走了！", "真的吗？！", "雨下了三天（没有停。）", "说来话长……", "“走。”’"], " "),
        (["他走了。", "“你去哪？”", "没有人回答……", "后来雨停了。"], ""),
        (["彼は言った。", "「本当？」", "『はい。』"], " "),
        (["यह एक वाक्य है।", "दूसरा वाक्य॥"], " "),
        (["هل وصل القطار؟", "نعم۔", "انتهى."], " "),
        (["Սա նախադասություն է։", "Այո։"], " "),
        (["ሰላም ነው።", "እንዴት ነህ፧"], " "),
        (["မင်္ဂလာပါ။", "နေကောင်းလား။"], " "),
        (["A heading", "The text under it.", "Another one"], "\n\n"),
        (["1. Open the box.", "2. Weigh 3.14 kg of rice."], "\n"),
    ],
    ids=lambda given: given[0][:12] if isinstance(given, list) else "",
)
def test_sentences_are_found(sentences, joiner):
    assert split(joiner.join(sentences)) == sentences


def test_text_without_terminators_is_cut_at_lines_then_at_spaces_then_anywhere():
    assert len(sentence_ends("\n".join(f"    value_{number} = compute({number})" for number in range(100)))) == 100
    assert len(sentence_ends("สวัสดี ครับ " * 300)) > 100
    assert sentence_ends("x" * 20_000).size > 2
    assert sentence_ends("short and unfinished").tolist() == [20]
    assert [sentence_ends(text).size for text in ("", " ", "\n\n\t ")] == [0, 0, 0]


@given(text=texts())
def test_ends_stand_between_graphemes_after_visible_characters(text):
    ends = sentence_ends(text)
    assert (np.diff(ends) > 0).all()
    assert ends.size > 0 or not text.strip()
    between = {match.end() for match in regex.finditer(r"\X", text)}
    for end in ends.tolist()[:-1]:
        assert end in between
        assert not text[end - 1].isspace()


def story(number, sentences=60):
    paragraphs = [
        " ".join(f"In part {number}.{paragraph} the keeper saw ship {number * 1000 + line}." for line in range(4))
        for paragraph in range(sentences // 4)
    ]
    return "\n\n".join(paragraphs)


MANY = corpus_of(*(story(number) for number in range(12)))
ONE = corpus_of(story(3, 200))


@pytest.fixture
def opened(tokenizers, tmp_path):
    def open_(corpus, *, seed=1, repeat=0, min_tokens=3000):
        return open_source(
            corpus, tokenizers["cl100k"], seed=seed, repeat=repeat, min_tokens=min_tokens, cache_dir=tmp_path
        )

    return open_


def test_tokens_are_those_of_the_whole_text(tokenizer, tmp_path):
    for corpus, tokens in ((MANY, 4000), (ONE, 20_000), (corpus_of("Short.", "Tiny one", "你好。"), 200)):
        source = open_source(corpus, tokenizer, seed=0, repeat=1, min_tokens=tokens, cache_dir=tmp_path)
        whole = tokenizer.encode(source.text)
        assert np.array_equal(source.encoded.ids, whole.ids)
        assert np.array_equal(source.encoded.starts, whole.starts)
        assert len(whole.ids) >= tokens
        assert source.ends_tokens.tolist() == [int((whole.starts < end).sum()) for end in source.ends]
        assert source.ends[-1] == len(source.text)


@pytest.mark.parametrize("corpus", [MANY, ONE], ids=["many", "one"])
def test_shorter_is_a_prefix_of_longer_and_nothing_repeats_before_all_is_used(opened, corpus):
    for short, long in pairwise(opened(corpus, min_tokens=tokens) for tokens in (500, 3000, 30_000)):
        assert long.text.startswith(short.text)
        assert long.ends[: len(short.ends)].tolist() == short.ends.tolist()
    source = opened(corpus, min_tokens=25_000)
    sentences = [line for line in source.text[: source.corpus_chars].split(" the keeper saw ")[1:] if line]
    assert len(sentences) == len(set(sentences)) == sum(text.count(" the keeper saw ") for text in corpus.documents)
    assert source.text[source.corpus_chars :].startswith(source.text[:1000])


class Refusing:
    """A tokenizer that has been told to encode short texts only."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def encode(self, text):
        assert len(text) < 1400, "a cached document was encoded again"
        return self._inner.encode(text)


def test_a_document_is_encoded_once(tokenizers, tmp_path):
    tokenizer = tokenizers["cl100k"]
    first = open_source(MANY, tokenizer, seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)
    again = open_source(MANY, Refusing(tokenizer), seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)
    assert np.array_equal(first.encoded.ids, again.encoded.ids)
    assert np.array_equal(first.ends, again.ends)
    with pytest.raises(AssertionError):  # another tokenizer has other files
        open_source(MANY, Refusing(tokenizers["o200k"]), seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)


def test_a_corpus_without_text_is_refused(opened):
    for documents in ((), ("",), (" \n ", "\t")):
        with pytest.raises(InputError, match="--corpus"):
            opened(corpus_of(*documents))


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
