"""Depths of several needles, the gaps beside a needle, and that needles and answers stand in a prompt once."""

from typing import cast

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.haystacks.builder import check_unique, occurs, stands_elsewhere
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import Draft, even_depths, gap, place_for, spaced_depths
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.haystack_fixtures.haystacks.splice import Range, Spliced, text_of
from needlework.models.tokenizers.tokenizer import Encoded


def test_even_depths_share_what_lies_below_the_first_and_spaced_ones_stop_at_the_end():
    assert [even_depths(0, 4), even_depths(50, 2), even_depths(100, 3)] == [[0, 25, 50, 75], [50, 75], [100] * 3]
    # 5 needles with diff 10: OpenCompass's code doubles the shift; its documentation does not.
    assert spaced_depths(0, 10, 5) == [0, 10, 20, 30, 40]
    assert spaced_depths(90, 10, 4) == [90, 100, 100, 100]


@pytest.mark.parametrize(
    ("depth", "char"),
    [(0, 0), (6, 0), (6.25, 0), (6.3, 5), (37, 5), (37.5, 5), (38, 25), (81, 25), (81.25, 25), (82, 40), (100, 40)],
)
def test_a_needle_goes_to_the_nearest_sentence_end_and_to_the_earlier_of_two_as_near(depth, char):
    """40 tokens of a character each, sentence ends behind the 5th and the 25th: 15 (37.5 %) is as far from both."""
    ends = np.array([5, 25, 60])
    source = HaystackSource("x" * 80, cast(Encoded, None), ends, ends, corpus_chars=80)
    assert place_for(source, depth, Cut(end=40, tail=(0, 0), closer="", tokens=40)) == char


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ("went home.", "The needle", " "),
        ("went home.", "小明", " "),
        ("走了。", "小明", ""),
        ("走了。”", "小明", ""),
        ("走了。", "“小明", ""),
        ("走了。", "The needle", " "),
        *[("home.", "\nNext", ""), ("home. ", "Next", ""), ("", "Next", "")],
        ("สวัสดี", "ครับ", " "),
        ("집에 갔다.", "그는", " "),
        ("👩", "The", " "),
    ],
)
def test_gaps_follow_the_script(left, right, wanted):
    assert gap(left, right) == wanted


# Few letters, so that texts contain one another; some whose lower case is peculiar.
LETTERS = "abA. 1ßİK\u0307你\ud83d"
TEXTS = st.text(LETTERS, max_size=40)
EMPTY = np.empty(0, np.int64)


@st.composite
def drafts(draw):
    """A prompt with needles between stretches of a haystack, of a corpus that is passed over several times."""
    corpus = draw(TEXTS) + draw(TEXTS)
    shown = corpus * draw(st.sampled_from([1, 1, 3])) + corpus[: draw(st.integers(0, 20))]
    source = HaystackSource(shown, Encoded(shown, EMPTY.astype(np.int32), EMPTY), EMPTY, EMPTY, max(1, len(corpus)))
    end, low, high = sorted(draw(st.lists(st.integers(0, len(shown)), min_size=3, max_size=3)))
    cut = Cut(end, (low, high), draw(st.sampled_from(["", ".", "。", " . ."])), 0)
    haystack = Encoded(cut.text(source), EMPTY.astype(np.int32), EMPTY)
    most = len(haystack.text)
    needles = tuple((f"n{i}", draw(st.text(LETTERS, min_size=1, max_size=3))) for i in range(draw(st.integers(1, 3))))
    places = sorted(draw(st.lists(st.integers(0, most), min_size=len(needles), max_size=len(needles))))
    pieces = [draw(TEXTS)]
    spans, done = [], 0
    for place, (_, needle) in zip(places, needles, strict=True):
        pieces += [Range(haystack, done, place), draw(st.sampled_from(["", " "]))]
        start = len(text_of(pieces))
        spans.append((start, start + len(needle)))
        pieces.append(needle)
        done = place
    pieces += [Range(haystack, done, most), draw(TEXTS)]
    context = (len(text_of(pieces[:1])), len(text_of(pieces[:-1])))
    return source, Draft(cut, (), tuple(pieces), tuple(spans), (), context, Spliced(()), 0), needles


@given(made=drafts(), term=st.text(LETTERS, min_size=1, max_size=7))
def test_uniqueness_is_that_of_the_whole_prompt(made, term):
    source, draft, needles = made
    assume(all(needle.strip() for _, needle in needles))
    filler, text = draft.cut.text(source), text_of(draft.pieces)
    is_wrong = any(needle.strip() in filler or text.count(needle) != 1 for _, needle in needles)
    for terms, refused in (((), is_wrong), ((term,), is_wrong or occurs(term.lower(), filler.lower()))):
        if refused:
            with pytest.raises(InputError):
                check_unique(source, draft, needles, terms)
        else:
            check_unique(source, draft, needles, terms)


@given(made=drafts(), answer=st.text(LETTERS, min_size=1, max_size=4))
def test_an_answer_elsewhere_is_one_outside_the_needles(made, answer):
    _, draft, _ = made
    begin, end = draft.context
    rest = text_of(draft.pieces)[begin:end]
    for start, stop in reversed(draft.spans):
        rest = rest[: start - begin] + rest[stop - begin :]
    assert stands_elsewhere(answer, draft) == occurs(answer, rest)


@pytest.mark.parametrize(
    ("term", "text", "wanted"),
    [
        ("42", "there were 42 ships", True),
        ("42", "there were 142 ships and 421 boats", False),
        ("fig", "figs and configs", False),
        ("fig", "figs and a fig.", True),
        ("上海", "他去了上海。", True),
        ("", "anything", False),
    ],
)
def test_terms_stand_by_themselves(term, text, wanted):
    assert occurs(term, text) is wanted
