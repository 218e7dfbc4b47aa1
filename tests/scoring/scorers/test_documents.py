"""`documents`: the offline rule for questions on documents, by table and by what must always hold."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.scorers.documents import documents_score
from needlework.scoring.scores import Reference, Score

_ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=120)
_WORDS = st.lists(st.from_regex(r"[A-Z][a-z]{3,9}", fullmatch=True), min_size=1, max_size=5).map(" ".join)
_NAMES = st.text(st.sampled_from("北京上海曹操刘备赤壁长江"), min_size=2, max_size=4)


def judged(answer: str, *answers: str, question: str = "", absent: bool = False) -> Score:
    return documents_score(answer, Reference(answers, question=question, absent=absent))


@pytest.mark.parametrize(
    ("reference", "answer", "verdict"),
    [
        ("Oruro", "An unusual Italian dish called 'Oruro'.", "found"),
        ("He wanted to walk his dogs", "walking the dog", "found"),
        ("wine, cheese and figs", "Some cheese.", "found"),
        ("red wine, cheese and figs", "Some cheese.", "wrong"),  # one word of four is less than 0.3
        ("wine, cheese and figs", "Some bread.", "wrong"),
        ("No", "No, he did not.", "found"),
        ("None", "None.", "found"),
        ("北京大学", "他在北京大学读书。", "found"),
        ("罗贯中写的三国演义", "三国演义。", "found"),
        ("Oruro", " \n", "empty"),
    ],
)
def test_a_share_of_the_references_words_is_enough(reference: str, answer: str, verdict: str) -> None:
    assert judged(answer, reference).verdict == verdict


@pytest.mark.parametrize(
    ("reference", "answer", "verdict"),
    [
        ("1987", "In 1987.", "found"),
        ("1987", "In 1988.", "wrong"),
        ("1,250 kg", "It weighs 1250 kilograms.", "found"),
        ("1,250 kg", "It weighs 12 kg.", "wrong"),
        ("74°C (165°F)", "At 165 °F.", "found"),
        ("74°C (165°F)", "74 degrees", "found"),
        ("74°C (165°F)", "At 70 °C.", "wrong"),
        ("Milan's play against Madrid in 1988/89", "Milan against Madrid", "found"),
        ("Milan's play against Madrid in 1988/89", "Milan against Madrid, 5-0 in 1988/89", "found"),
        ("Milan's play against Madrid in 1988/89", "Milan against Madrid in 1994/95", "wrong"),
        ("1/4 inch deep by 3/4 inch wide", "2/5 inch deep by 4/5 inch wide", "wrong"),
        ("12 May 1987", "May 12, 1987", "found"),
        ("12 May 1987", "On 3 May 1987.", "wrong"),
        ("1987", "It was not until 1987 that he left.", "found"),
        ("北京大学", "他在北京。", "wrong"),
        ("罗贯中", "作者是罗贯。", "wrong"),
    ],
)
def test_short_answers_are_matched_whole(reference: str, answer: str, verdict: str) -> None:
    assert judged(answer, reference).verdict == verdict


@pytest.mark.parametrize(
    ("reference", "answer", "verdict"),
    [
        ("Oruro", "The document does not mention it.", "refused"),
        ("Oruro", "NOT FOUND", "refused"),
        ("Oruro", "Oruro. The text does not say more.", "found"),
        ("Oruro", "The document does not explicitly say, but it mentions Oruro.", "found"),
        ("unusual Italian dish", "The document does not mention an unusual Italian dish.", "refused"),
        ("罗贯中", "文中没有提到作者。", "refused"),
        ("罗贯中", "文中没有直接提到，但作者是罗贯中。", "found"),
        ("It is not mentioned", "It is not mentioned.", "found"),
    ],
)
def test_who_says_that_the_text_is_silent_abstains(reference: str, answer: str, verdict: str) -> None:
    assert judged(answer, reference).verdict == verdict


@pytest.mark.parametrize(
    ("reference", "answer", "verdict"),
    [
        ("Oruro", "It is not Oruro.", "wrong"),
        ("red wine", "They did not drink red wine but white wine.", "wrong"),
        ("white wine", "They did not drink red wine but white wine.", "found"),
        ("He did not attend", "He did not attend the ceremony.", "found"),
        ("北京大学", "不是北京大学。", "wrong"),
    ],
)
def test_an_answer_that_denies_the_reference_is_wrong(reference: str, answer: str, verdict: str) -> None:
    assert judged(answer, reference).verdict == verdict


def test_words_of_the_question_are_no_answer_by_themselves() -> None:
    assert judged("The Nile river.", "the Amazon river", question="Which river is it?").verdict == "wrong"
    assert judged("The river.", "the river", question="Is it a river or a lake?").verdict == "found"


def test_the_best_of_several_accepted_answers_counts() -> None:
    score = judged("USA", "the United States of America", "USA")

    assert score.verdict == "found"
    assert score.details == {"recall": 1.0, "missing": ""}


def test_details_tell_the_recall_and_the_words_that_are_missing() -> None:
    assert judged("the Amazon", "the Amazon river").details == {"recall": 0.5, "missing": "river"}


def test_what_a_long_answer_has_in_its_middle_was_copied() -> None:
    filler = "The weather was fine and the people were glad. " * 20
    assert judged(f"{filler}It was Oruro. {filler}", "Oruro").verdict == "wrong"
    assert judged(f"It was Oruro. {filler * 2}", "Oruro").verdict == "found"
    assert judged(f"{filler * 2}It was Oruro.", "Oruro").verdict == "found"


@pytest.mark.parametrize(
    ("answer", "value", "verdict"),
    [
        ("NOT FOUND", 1.0, "found"),
        ("The documents do not say.", 1.0, "found"),
        ("没有提到。", 1.0, "found"),
        ("Oruro", 0.0, "wrong"),
        ("Potosi, I think.", 0.0, "wrong"),
        ("", 0.0, "empty"),
    ],
)
def test_where_the_answer_is_absent_abstaining_is_right_and_the_true_answer_is_not(
    answer: str, value: float, verdict: str
) -> None:
    score = judged(answer, "Oruro", absent=True)

    assert (score.value, score.verdict) == (value, verdict)


def test_a_reference_without_answers_is_a_fault() -> None:
    with pytest.raises(ValueError, match="no answer to compare with"):
        judged("anything")


@given(st.one_of(_WORDS, _NAMES, st.integers(0, 10**9).map(str)))
def test_the_reference_itself_is_found(reference: str) -> None:
    assert judged(reference, reference).verdict == "found"


@given(_ANY_TEXT, st.one_of(_ANY_TEXT, _WORDS).filter(str.strip), _WORDS)
def test_scores_are_0_or_1_and_a_further_accepted_answer_never_lowers_one(answer: str, one: str, other: str) -> None:
    first = judged(answer, one)

    assert first.value in (0, 1)
    assert (first.verdict == "found") == (first.value == 1)
    assert judged(answer, one, other).value >= first.value


@given(_ANY_TEXT, _WORDS)
def test_without_a_word_of_the_reference_nothing_is_found(answer: str, reference: str) -> None:
    if not set(re.findall(r"\w+", answer.casefold())) & set(reference.casefold().split()):
        assert judged(re.sub(r"[A-Za-z]", " ", answer), reference).value == 0
