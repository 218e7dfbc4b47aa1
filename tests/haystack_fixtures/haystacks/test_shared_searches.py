"""What is found out about a source once and used for all its haystacks is what each haystack would say by itself."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.haystacks import builder, frame
from needlework.haystack_fixtures.haystacks.builder import check_unique, occurs, stands_elsewhere
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.pieces import Piece, Range, Spliced, text_of
from needlework.haystack_fixtures.haystacks.search import Draft
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.models.tokenizers.tokenizer import Encoded

# Few letters, so that texts contain one another; some whose lower case is peculiar.
LETTERS = "abA. 1ßΣσςİK\u0307你\ud83d"
TEXTS = st.text(LETTERS, max_size=40)
SENTENCE = 30
EMPTY = np.empty(0, np.int64)


def source_of(text: str, passes: int = 1, more: int = 0) -> HaystackSource:
    """A corpus, passed over some times and begun once more."""
    shown = text * passes + text[:more]
    return HaystackSource(shown, Encoded(shown, EMPTY.astype(np.int32), EMPTY), EMPTY, EMPTY, max(1, len(text)))


@st.composite
def haystacks(draw: st.DrawFn) -> tuple[HaystackSource, Cut]:
    text = draw(TEXTS) + "c" * draw(st.sampled_from([0, 200])) + draw(TEXTS)
    source = source_of(text, draw(st.sampled_from([1, 1, 3])), draw(st.integers(0, 20)))
    end, low, high = sorted(draw(st.lists(st.integers(0, len(source.text)), min_size=3, max_size=3)))
    tail = (max(low, high - SENTENCE + 4), high)
    return source, Cut(end, tail, draw(st.sampled_from(["", ".", "。", " . ."])), 0)


@given(
    haystack=haystacks(),
    words=st.lists(st.text(LETTERS, min_size=1, max_size=7), min_size=1, max_size=3),
    few=st.integers(0, 3),
)
def test_a_word_is_found_as_in_the_whole_haystack(haystack, words, few):
    source, cut = haystack
    whole = cut.text(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "_FEW", few)
        for word in words:
            assert builder._holds(source, cut, word) == (word in whole)
            assert builder._holds_word(source, cut, word) == occurs(word.lower(), whole.lower())


@given(haystack=haystacks(), block=st.integers(1, 7))
def test_hashes_are_those_of_the_whole_text(haystack, block):
    source, cut = haystack
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame, "_BLOCK", block)
        assert frame.filler_sha256(source, cut) == digest(cut.text(source))
        middle = cut.end // 2
        pieces = ["head ", Range(source.encoded, 0, middle), "needle", Range(source.encoded, middle, cut.end), ".", "?"]
        for shown in (pieces, pieces[1:], pieces[:1], [], ["a", "b", pieces[3]], ["other ", *pieces[1:]]):
            assert frame.text_sha256(source, shown) == digest(text_of(shown))


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@st.composite
def drafts(draw: st.DrawFn) -> tuple[HaystackSource, Draft, tuple[tuple[str, str], ...]]:
    """A prompt with needles between stretches of a haystack; long stretches, since only these are cut short."""
    source, cut = draw(haystacks())
    haystack = Encoded(cut.text(source), EMPTY.astype(np.int32), EMPTY)
    most = len(haystack.text)
    needles = tuple((f"n{i}", draw(st.text(LETTERS, min_size=1, max_size=3))) for i in range(draw(st.integers(1, 3))))
    places = sorted(draw(st.lists(st.integers(0, most), min_size=len(needles), max_size=len(needles))))
    pieces: list[Piece] = [draw(TEXTS)]
    spans, done = [], 0
    for place, (_, needle) in zip(places, needles, strict=True):
        pieces += [Range(haystack, done, place), draw(st.sampled_from(["", " "]))]
        start = len(text_of(pieces))
        spans.append((start, start + len(needle)))
        pieces.append(needle)
        done = place
    pieces += [Range(haystack, done, most), draw(TEXTS)]
    context = (len(pieces[0]), len(text_of(pieces[:-1])))
    return source, Draft(cut, (), tuple(pieces), tuple(spans), (), context, Spliced(()), 0), needles


@given(made=drafts())
def test_uniqueness_is_that_of_the_whole_prompt(made):
    source, draft, needles = made
    assume(all(needle.strip() for _, needle in needles))
    filler, text = draft.cut.text(source), text_of(draft.pieces)
    wrong = any(needle.strip() in filler or text.count(needle) != 1 for _, needle in needles)
    if wrong:
        with pytest.raises(InputError):
            check_unique(source, draft, needles, ())
    else:
        check_unique(source, draft, needles, ())


@given(made=drafts(), answer=st.text(LETTERS, min_size=1, max_size=4))
def test_an_answer_elsewhere_is_one_outside_the_needles(made, answer):
    source, draft, _ = made
    begin, end = draft.context
    rest = text_of(draft.pieces)[begin:end]
    for start, stop in reversed(draft.spans):
        rest = rest[: start - begin] + rest[stop - begin :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "_SENTENCE", SENTENCE)
        assert stands_elsewhere(answer, source, draft) == occurs(answer, rest)
