"""The pattern notation, by example."""

from __future__ import annotations

import random

import pytest

from needlework.haystack_fixtures.corpora.grammar import Scope, parse, phrase, render, slot_names


def say(pattern: str, **values: str) -> str:
    tables = {"fruit": (parse("apple"), parse("{colour} pear")), "colour": (parse("green"),)}
    return render(parse(pattern), Scope(random.Random(1), tables, values))


def test_values_come_before_tables() -> None:
    assert say("{who} ate.", who="Ada") == "Ada ate."
    assert say("{^colour} is a colour.") == "Green is a colour."
    assert say("It was {colour}.", colour="blue") == "It was blue."


def test_tables_may_refer_to_tables() -> None:
    assert {say("{fruit}"), say("{fruit}{fruit}")} & {"Apple", "Green pear", "Applegreen pear", "Green pearapple"}


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("apple", "An apple."),
        ("pear", "A pear."),
        ("hour", "An hour."),
        ("uniform", "A uniform."),
        ("one-way street", "A one-way street."),
        ("honest baker", "An honest baker."),
        ("umbrella", "An umbrella."),
        ("Olive oil", "An Olive oil."),
    ],
)
def test_the_article_suits_the_next_word(noun: str, expected: str) -> None:
    assert say("{a} {noun}.", noun=noun) == expected


def test_choices_nest_and_may_be_empty() -> None:
    assert {say("x[|[y|y]]") for _ in range(5)} <= {"X", "Xy"}
    assert slot_names(parse("[{one}|[{two}|three]] {^four}")) == {"one", "two", "four"}


def test_paragraphs_and_quotations_begin_with_a_capital() -> None:
    assert say('"{what}?"¶{what}.', what="why") == '"Why?"\n\nWhy.'


def test_a_phrase_keeps_its_small_letter() -> None:
    assert phrase(parse("{a} {colour} apple"), Scope(random.Random(1), {}, {"colour": "red"})) == "a red apple"


@pytest.mark.parametrize("broken", ["[a|b", "a|b", "a]", "{a b}", "{", "[[a]"])
def test_a_broken_pattern_is_refused(broken: str) -> None:
    with pytest.raises(ValueError, match=r"unreadable|outside|never closed"):
        parse(broken)
