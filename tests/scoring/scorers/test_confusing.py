"""The scorer `confusion`: what `match` says, and which wrong statement won."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.match.match import match_score
from needlework.scoring.recording import as_reference
from needlework.scoring.scorers.documents import confusion_score
from needlework.scoring.scores import Reference

KEY = Reference(
    ("4815162",),
    distractors=("9300121", "7745810"),
    question="What is the badge code for the amber otter?",
    places={"4815162": 50.0, "9300121": 20.0, "7745810": 80.5},
)
UPDATED = Reference(
    ("4815162",),
    distractors=("9300121", "7745810"),
    places={"9300121": 10.0, "4815162": 55.0, "7745810": 90.0},
    kinds={"9300121": "stale", "7745810": "newer"},
)


@pytest.mark.parametrize(
    ("answer", "distance"),
    [
        ("9300121", -30.0),
        ("The code is **9,300,121**.", -30.0),
        ("It is 7745810, as the document says.", 30.5),
        ("代码是7745810。", 30.5),
        ("The first one is 4815162, no, it is 7745810", 30.5),
    ],
)
def test_a_wrong_value_says_where_it_stands(answer, distance):
    score = confusion_score(answer, KEY)
    assert (score.value, score.verdict, score.details["distance"]) == (0, "distractor", distance)
    assert "confused" not in score.details
    assert "stale" not in score.details


@pytest.mark.parametrize(
    ("answer", "stale", "confused"), [("9300121", True, "stale"), ("It was 7745810.", False, "newer")]
)
def test_an_old_value_is_stale_and_a_later_one_is_not(answer, stale, confused):
    details = confusion_score(answer, UPDATED).details
    assert (details["stale"], details["confused"]) == (stale, confused)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("4815162", "found"),
        ("4,815,162", "found"),
        ("It is not 9300121 but 4815162.", "found"),
        ("First it was 9300121. So the answer is 4815162.", "found"),
        ("1234567", "wrong"),
        ("NOT FOUND", "refused"),
        ("没有提到", "refused"),
        ("", "empty"),
    ],
)
def test_everything_else_is_as_match_judges(answer, verdict):
    score = confusion_score(answer, UPDATED)
    assert score.verdict == verdict
    assert score == match_score(answer, UPDATED)


@given(st.sampled_from(["9300121", "7745810", "4815162", "refuse"]), st.text(max_size=20))
def test_scores_are_those_of_match(value, noise):
    answer = f"{noise} {value}"
    assert confusion_score(answer, UPDATED).value == match_score(answer, UPDATED).value


def test_places_and_kinds_come_back_from_a_journal():
    told = {
        "answers": ["1"],
        "places": {"1": 50, "2": 20.5, "3": "x"},
        "kinds": {"2": "stale", "3": 4},
        "labels": ["a"],
    }
    reference = as_reference(told)
    assert reference.places == {"1": 50.0, "2": 20.5}
    assert reference.kinds == {"2": "stale"}
    assert reference.labels == ("a",)
    assert as_reference({"answers": ["1"], "places": 3}).places == {}
