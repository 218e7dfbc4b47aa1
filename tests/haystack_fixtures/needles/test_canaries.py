"""Canaries: marks at both ends of a context, and what a missing one means."""

import pytest

from needlework.haystack_fixtures.needles.needle_sets import canaries
from needlework.models.model import ModelError, Response
from needlework.pipeline.exchange import Check, check_canaries

HERE = canaries("en", seed=0, repeat=0)
BOTH = f"They are {HERE.start_mark} and {HERE.end_mark}."


def test_the_seed_and_the_repeat_change_the_marks_and_nothing_else_does():
    assert canaries("en", seed=0, repeat=0) == HERE
    assert canaries("en", seed=1, repeat=0).start_mark != HERE.start_mark
    assert canaries("en", seed=0, repeat=1).end_mark != HERE.end_mark
    assert HERE.start_mark != HERE.end_mark


@pytest.mark.parametrize("language", ["en", "zh"])
def test_statements_hold_their_marks(language):
    found = canaries(language, seed=3, repeat=1)
    assert found.start_mark in found.start
    assert found.end_mark in found.end


@pytest.mark.parametrize(
    ("say", "missing"),
    [
        (lambda c: f"{c.start_mark}, {c.end_mark}", ()),
        (lambda c: f"{c.start_mark[:3].lower()}-{c.start_mark[3:]} {c.end_mark}", ()),
        (lambda c: c.end_mark, ("start",)),
        (lambda c: c.start_mark, ("end",)),
        (lambda c: "There are no marks.", ("start", "end")),
        (lambda c: "", ("start", "end")),
    ],
)
def test_marks_are_recognised_however_they_are_written(say, missing):
    assert HERE.missing(say(HERE)) == missing


@pytest.mark.parametrize(
    ("response", "counted", "checked"),
    [
        (Response(BOTH), False, Check(flags=("canaries_found",))),
        # A model that gives neither mark is believed where the count vouches for the prompt.
        (Response("I do not know."), True, Check(flags=("canary_start_missing", "canary_end_missing"))),
        (Response(HERE.end_mark), True, Check(flags=("canary_start_missing",))),
        (Response(error=ModelError("timeout", "no answer")), False, Check(flags=("canary_unasked",))),
    ],
)
def test_missing_marks_are_flags_where_the_count_vouches_for_the_prompt(response, counted, checked):
    assert check_canaries(HERE, response, counted=counted) == checked


def test_without_a_count_missing_marks_are_invalid():
    neither, one = (check_canaries(HERE, Response(text), counted=False) for text in ("No idea.", HERE.end_mark))
    assert neither.invalid == ("canary_start_missing", "canary_end_missing")
    assert one.invalid == ("canary_start_missing",)
    assert "the one at the start" in one.why
