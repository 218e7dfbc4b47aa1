"""Depths of several needles, and the gaps beside a needle."""

from typing import cast

import numpy as np
import pytest

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import even_depths, gap, place_for, spaced_depths
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.models.tokenizers.tokenizer import Encoded


def test_even_depths_share_what_lies_below_the_first():
    assert even_depths(0, 4) == [0, 25, 50, 75]
    assert even_depths(50, 2) == [50, 75]
    assert even_depths(100, 3) == [100, 100, 100]


def test_spaced_depths_are_shifted_once_and_stop_at_the_end():
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
        ("home.", "\nNext", ""),
        ("home. ", "Next", ""),
        ("", "Next", ""),
        ("สวัสดี", "ครับ", " "),
        ("집에 갔다.", "그는", " "),
        ("👩", "The", " "),
    ],
)
def test_gaps_follow_the_script(left, right, wanted):
    assert gap(left, right) == wanted
