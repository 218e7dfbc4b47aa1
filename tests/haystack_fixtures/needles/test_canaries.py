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


def test_marks_that_are_there_are_told():
    assert check_canaries(HERE, Response(BOTH), counted=False) == Check(flags=("canaries_found",))


def test_a_model_that_gives_neither_mark_is_believed_where_the_count_vouches_for_the_prompt():
    checked = check_canaries(HERE, Response("I do not know."), counted=True)
    assert checked == Check(flags=("canary_start_missing", "canary_end_missing"))


def test_without_a_count_nothing_vouches_for_it():
    checked = check_canaries(HERE, Response("I do not know."), counted=False)
    assert checked.invalid == ("canary_start_missing", "canary_end_missing")


def test_one_mark_without_the_other_is_a_flag_where_the_count_vouches_for_the_prompt():
    assert check_canaries(HERE, Response(HERE.end_mark), counted=True) == Check(flags=("canary_start_missing",))
    checked = check_canaries(HERE, Response(HERE.end_mark), counted=False)
    assert checked.invalid == ("canary_start_missing",)
    assert "the one at the start" in checked.why


def test_a_request_that_fails_proves_nothing():
    checked = check_canaries(HERE, Response(error=ModelError("timeout", "no answer")), counted=False)
    assert checked == Check(flags=("canary_unasked",))
