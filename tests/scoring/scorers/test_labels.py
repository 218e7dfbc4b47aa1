"""The scorer `labels`: closed sets of answers, as bAbI scores them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.scorers.sets import labels_score
from needlework.scoring.scores import Reference

ROOMS = ("kitchen", "garden", "hallway", "attic")


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("Yes", "yes"),
        ("yes.", "yes"),
        ("Yes, she is in the attic, not in the garden.", "yes"),
        ("No.", "no"),
        ("**No** - she left.", "no"),
        ("No, maybe she was there before.", "no"),
        ("Maybe", "maybe"),
        ("It is uncertain.", "maybe"),
        ("It cannot be determined.", "maybe"),
        ("She went to the attic. The answer is no.", "no"),
        ("是", "是"),
        ("是的。", "是"),
        ("答案是否", "否"),
        ("答案是是。", "是"),
        ("不是", "否"),
        ("否，她在阁楼。", "否"),
        ("不确定", "不确定"),
        ("无法确定。", "不确定"),
    ],
)
def test_yes_no_and_maybe(answer, label):
    labels = ("是", "否", "不确定") if label in "是否不确定" else ("yes", "no", "maybe")
    for right in labels:
        score = labels_score(answer, Reference((right,), labels=labels))
        assert score.value == (right == label), (answer, right, score)


@given(st.sets(st.sampled_from(ROOMS), min_size=1), st.sampled_from([", ", " and ", "\t"]))
def test_only_the_right_set_is_right(named, between):
    right = tuple(sorted(named))
    reference = Reference((), parts=right, labels=ROOMS)
    assert labels_score(between.join(reversed(right)), reference).value == 1
    assert labels_score(between.join(ROOMS), reference).value == (len(right) == len(ROOMS))


def test_a_reference_without_labels_is_an_error():
    with pytest.raises(ValueError, match="give answers or parts"):
        labels_score("x", Reference(()))
