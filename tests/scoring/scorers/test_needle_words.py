from __future__ import annotations

import pytest

from needlework.scoring.scorers.values import needle_words_score
from needlework.scoring.scores import Reference

SAN_FRANCISCO = Reference(
    ("The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day.",),
    question="What is the best thing to do in San Francisco?",
)
INTERNSHIP = Reference(
    ("小明最喜欢的实习的地点就是上海人工智能实验室。",),
    question="小明最喜欢的实习地点是哪里？请按照“小明最喜欢的实习地点就是________。”的格式回答。",
    language="zh",
)
PIZZA = Reference(
    (),
    parts=tuple(
        f"{food} one of the secret ingredients needed to build the perfect pizza."
        for food in ("Figs are", "Prosciutto is", "Goat cheese is")
    ),
    question="What are the secret ingredients needed to build the perfect pizza?",
)


@pytest.mark.parametrize(
    ("reference", "answer", "value"),
    [
        (SAN_FRANCISCO, "Eat a sandwich and sit in Dolores Park.", 1),
        (SAN_FRANCISCO, "You should eat a sandwich in Dolores Park when it is sunny.", 1),
        (SAN_FRANCISCO, "The best thing to do in San Francisco is to visit Alcatraz.", 0),
        (SAN_FRANCISCO, "The best thing to do in San Francisco", 0),
        (SAN_FRANCISCO, "It is not eating a sandwich in Dolores Park.", 0),
        (SAN_FRANCISCO, "The document does not say.", 0),
        (SAN_FRANCISCO, "", 0),
        (INTERNSHIP, "上海人工智能实验室", 1),
        (INTERNSHIP, "小明最喜欢的实习地点就是上海人工智能实验室。", 1),
        (INTERNSHIP, "小明最喜欢的实习地点就是北京。", 0),
        (PIZZA, "Figs, prosciutto and goat cheese.", 1),
        (PIZZA, "Figs are one of the secret ingredients needed to build the perfect pizza.", 1 / 3),
        (PIZZA, "Tomatoes and basil are the secret ingredients needed to build the perfect pizza.", 0),
    ],
)
def test_an_answer_is_right_by_what_the_needles_say_and_the_question_does_not(
    reference: Reference, answer: str, value: float
) -> None:
    score = needle_words_score(answer, reference)
    assert score.value == pytest.approx(value)
    assert (score.verdict == "found") is (value == 1)


def test_without_a_needle_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(ValueError, match="no needle"):
        needle_words_score("x", Reference(()))
