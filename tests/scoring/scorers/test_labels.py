"""The scorer `labels`: closed sets of answers, as bAbI scores them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.scorers.sets import labels_score
from needlework.scoring.scores import Reference

ROOMS = ("kitchen", "garden", "hallway", "attic")
WHERE = Reference(
    ("garden",), labels=ROOMS, question="Where was Niamh right before going to the kitchen?", given=("kitchen",)
)
ONE = Reference(("1",), labels=tuple("012345"))
COUNT = Reference(("3",), labels=tuple("012345"), question="How many things is Niamh carrying now?")
NONE = Reference(("0",), labels=tuple("012345"), question="How many things is Niamh carrying now?")
ZH_COUNT = Reference(("2",), labels=tuple("012345"), question="上官澈现在拿着几样东西？", language="zh")


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("garden", 1),
        ("The **garden**.", 1),
        ("Niamh was in the garden before she went to the kitchen.", 1),
        ("She was in the garden. Later she went to the attic.", 1),
        ("Not the attic but the garden.", 1),
        ("She went to the attic first. So the answer is the garden.", 1),
        ("gardener", 0),
        ("attic", 0),
        ("garden or attic", 0),
        ("kitchen", 0),
        ("kitchen, garden, hallway, attic", 0),
        ("Where was Niamh right before going to the kitchen? garden", 1),
        ("", 0),
    ],
)
def test_rooms(answer, value):
    assert labels_score(answer, WHERE).value == value


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("3", COUNT, 1),
        ("Three.", COUNT, 1),
        ("Niamh is carrying 3 things: the apple, the lamp and the map.", COUNT, 1),
        ("13", COUNT, 0),
        ("2 or 3", COUNT, 0),
        ("3.5", COUNT, 0),
        ("0", NONE, 1),
        ("None", NONE, 1),
        ("nothing", NONE, 1),
        ("2", ZH_COUNT, 1),
        ("两样东西", ZH_COUNT, 1),
        ("上官澈拿着2样东西。", ZH_COUNT, 1),
        ("十二样", ZH_COUNT, 0),
        ("Let me look at all that the passage says of it, one thing after another, before I answer.", ONE, 0),
    ],
)
def test_numbers(answer, reference, value):
    assert labels_score(answer, reference).value == value


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


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("NOT FOUND", "refused"),
        ("没有提到", "refused"),
        ("I don't know where she is.", "refused"),
        ("The lamp.", "wrong"),
        ("attic", "wrong"),
        ("", "empty"),
        ("  \n", "empty"),
    ],
)
def test_answers_that_miss(answer, verdict):
    score = labels_score(answer, WHERE)
    assert (score.value, score.verdict) == (0, verdict)


@given(st.sets(st.sampled_from(ROOMS), min_size=1), st.sampled_from([", ", " and ", "\t"]))
def test_only_the_right_set_is_right(named, between):
    right = tuple(sorted(named))
    reference = Reference((), parts=right, labels=ROOMS)
    assert labels_score(between.join(reversed(right)), reference).value == 1
    assert labels_score(between.join(ROOMS), reference).value == (len(right) == len(ROOMS))


def test_a_reference_without_labels_is_an_error():
    with pytest.raises(ValueError, match="give answers or parts"):
        labels_score("x", Reference(()))
