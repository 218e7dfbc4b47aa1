"""Topics of a record, and true or false in a story and in the world."""

from __future__ import annotations

import pytest

from needlework.scoring.leval.exact import (
    SCI_FI,
    SCI_FI_COMPAT,
    TOPIC,
    TOPIC_COMPAT,
    asked_for,
    compat_parts,
    stated_parts,
)
from needlework.scoring.scores import Reference

_ART, _SPACE = "The role of art in society", "The future of space tourism"
_TOPIC = Reference((_ART,), distractors=(_SPACE, "The psychology of happiness"))


@pytest.mark.parametrize(
    ("answer", "compat", "strict"),
    [
        (f'The first topic discussed was "{_ART}."', 1, 1),
        (_ART.upper(), 1, 1),
        ("Theroleof artinsociety", 1, 0),
        (f"1. {_ART}\n2. {_SPACE}", 1, 0),
        (_SPACE, 0, 0),
        (f"It was not {_ART}.", 1, 0),
        ("", 0, 0),
    ],
)
def test_topics_by_both_rules(answer: str, compat: float, strict: float) -> None:
    assert TOPIC_COMPAT.judge(answer, _TOPIC) == compat
    assert TOPIC.judge(answer, _TOPIC) == strict


def test_the_question_says_which_topic_is_asked_for() -> None:
    assert asked_for("What is the second topic we discussed?") == "second"
    assert asked_for("What are the first topic and the third topic?") is None
    assert asked_for("") is None


@pytest.mark.parametrize(
    ("answer", "compat", "strict"),
    [
        ("True [fact: False]", ("true", "false"), ("true", "false")),
        ("True. [fact: False.]", ("true", "false"), ("true", "false")),
        ("It is not true [fact: untrue]", ("true", "true"), ("false", "false")),
        ("True or false? The answer is False [fact: True]", ("true", "true"), ("false", "true")),
        ("[fact: as told] False [fact: True]", ("<error>", "false"), ("false", "true")),
        ("True [fact: False", ("true", "<error>"), ("true", "false")),
        ("It isn't false. [fact: not really true]", ("false", "true"), ("true", "false")),
        ("True", ("true", "<error>"), ("true", "<error>")),
        ("[fact:", ("<error>", "<error>"), ("<error>", "<error>")),
        ("", ("<error>", "<error>"), ("<error>", "<error>")),
    ],
)
def test_parts_of_an_answer(answer: str, compat: tuple[str, str], strict: tuple[str, str]) -> None:
    assert compat_parts(answer) == compat
    assert stated_parts(answer) == strict


def test_the_score_is_the_mean_of_both_parts() -> None:
    reference = Reference(("True [fact: False]",))
    for scorer in (SCI_FI, SCI_FI_COMPAT):
        assert scorer.judge("True [fact: False]", reference) == 1
        assert scorer.judge("True [fact: True]", reference) == 0.5
        assert scorer.judge("False [fact: True]", reference) == 0


def test_an_answer_without_a_fact_is_told_and_ends_nothing() -> None:
    for scorer in (SCI_FI, SCI_FI_COMPAT):
        score = scorer.judge("True", Reference(("True [fact: False]",)))
        assert (score.value, score.details["fact_missing"]) == (0.5, True)


def test_nothing_is_right_where_the_reference_says_nothing() -> None:
    for scorer in (SCI_FI, SCI_FI_COMPAT):
        assert scorer.judge("perhaps [fact: perhaps]", Reference(("perhaps",))) == 0
