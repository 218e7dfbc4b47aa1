"""A list of words: every way of listing them, and what is one too many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.scorers.sets import word_list_score
from needlework.scoring.scores import Reference

QUESTION = "The document is a list of words. Which four come far more often? Reply with the words only."
EN = Reference((), parts=("noon", "hive", "ox", "sundial"), distractors=("box", "afternoon", "knob"), question=QUESTION)
ZH = Reference(
    (), parts=("山羊", "灯笼", "风铃"), distractors=("羊", "纽扣"), question="是哪三个词？请只回答这三个词。"
)

ALL = [
    (EN, "noon, hive, ox, sundial"),
    (EN, "Sundial, OX, noon, Hive."),
    (EN, "1. noon\n2. hive\n3. ox\n4. sundial"),
    (EN, "- **noon** (30 times)\n- *hive*: 30\n- `ox` x 29\n- sundial - 29 occurrences"),
    (EN, "The four words are: noon, hive, ox and sundial."),
    (EN, "Sure, here they are:\n\nnoon; hive; ox; sundial"),
    (EN, "noon hive ox sundial"),
    (EN, '"noon", "hive", "ox", and "sundial"'),
    (EN, "noon, noon, hive, ox, sundial, hive"),
    (EN, "noon, hive, ox, sundial, not knob"),
    (EN, f"{QUESTION}\nnoon, hive, ox, sundial"),
    (ZH, "山羊、灯笼、风铃"),
    (ZH, "1. 灯笼\n2. 风铃\n3. 山羊"),
    (ZH, "答案是灯笼，风铃和山羊。"),
    (ZH, "山羊（30次），灯笼（30次），风铃（29次）"),
]
SOME = [
    (EN, "noon, hive", 2 / 3, "partial", 0),
    (EN, "noon, hive, ox, knob", 3 / 4, "partial", 1),
    (EN, "noon, hive, ox, banjo", 3 / 4, "partial", 1),
    (EN, "noon, hive, ox, sundial, banjo, tulip", 8 / 10, "partial", 2),
    (EN, "afternoon, box", 0, "distractor", 2),
    (EN, "banjo, tulip", 0, "wrong", 2),
    (EN, "The answer is Lisbon.", 0, "wrong", 0),
    (EN, "noon, hive, ox, sundial, box, afternoon, knob", 8 / 11, "partial", 3),
    (EN, "I cannot tell which words come most often.", 0, "refused", 0),
    (EN, "NOT FOUND", 0, "refused", 0),
    (EN, QUESTION, 0, "wrong", 0),
    (EN, "", 0, "empty", 0),
    (ZH, "灯笼、羊、风铃", 2 / 3, "partial", 1),
    (ZH, "没有提到", 0, "refused", 0),
]


@pytest.mark.parametrize(("reference", "answer"), ALL)
def test_all_words_in_any_form(reference: Reference, answer: str) -> None:
    score = word_list_score(answer, reference)
    assert (score.value, score.verdict) == (1.0, "found"), score
    assert score.details == {"recall": 1.0, "precision": 1.0, "f1": 1.0, "extra": 0}


@pytest.mark.parametrize(("reference", "answer", "value", "verdict", "extra"), SOME)
def test_some_words(reference: Reference, answer: str, value: float, verdict: str, extra: int) -> None:
    score = word_list_score(answer, reference)
    assert score.value == pytest.approx(value), score
    assert (score.verdict, score.details.get("extra", 0)) == (verdict, extra), score


@given(st.permutations(EN.parts + EN.distractors), st.integers(0, 7))
def test_f1_is_the_same_in_any_order(words: list[str], size: int) -> None:
    listed = words[:size]
    right = len(set(listed) & set(EN.parts))
    score = word_list_score(", ".join(listed), EN)
    assert score.value == pytest.approx(2 * right / (size + len(EN.parts)))
    assert score.value == word_list_score("\n".join(reversed(listed)), EN).value


@given(st.text(max_size=80))
def test_any_answer_has_a_score(answer: str) -> None:
    for reference in (EN, ZH):
        score = word_list_score(answer, reference)
        assert 0 <= score.value <= 1
        assert (score.value == 1) == (score.verdict == "found")
        assert (score.value > 0) == (score.verdict in ("found", "partial"))


def test_a_reference_without_words_is_an_error() -> None:
    with pytest.raises(ValueError, match="parts"):
        word_list_score("noon", Reference(()))
