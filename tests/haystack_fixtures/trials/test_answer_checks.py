"""What an answer proves: the server's count against ours, where the value stands, and the marks at both ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.needles.needle_sets import canaries
from needlework.models.model import Calibration, ModelError, Response
from needlework.pipeline.exchange import TOLERANCE, Check, check_answer, check_canaries

TOKENS = st.integers(1, 2_000_000)
CONSTANTS = st.integers(-100, 100)


def check(tokens, served, constant=0, **more):
    found = check_answer(
        tokens, ["4829173"], Response("x", prompt_tokens=served, calibration=Calibration("exact", constant), **more)
    )
    assert bool(found.invalid) == bool(found.why)
    return found.invalid, found.flags


@given(TOKENS, CONSTANTS, st.integers(-TOLERANCE, TOLERANCE))
def test_our_count_plus_the_constant_is_valid(tokens, constant, off):
    flags = (*["template_difference"] * bool(constant), *["token_difference"] * bool(off))
    assert check(tokens, tokens + constant + off, constant) == ((), flags)


@given(TOKENS, CONSTANTS, st.integers(TOLERANCE + 1, 2_000_000))
def test_anything_else_is_not_whatever_the_length(tokens, constant, off):
    assert check(tokens, tokens + constant + off, constant)[0] == ("token_mismatch",)
    assert check(tokens, tokens + constant - off, constant)[0] == ("server_truncated",)


def test_counts_without_the_cached_part():
    assert check(900, 100, cached_tokens=800) == ((), ("usage_without_cached",))
    assert check(900, 107, 7, cached_tokens=800) == ((), ("usage_without_cached", "template_difference"))
    assert check(900, 900, cached_tokens=800) == ((), ())
    assert check(900, 100, cached_tokens=700)[0] == ("server_truncated",)


def test_a_model_without_a_calibration_counts_as_we_do():
    assert check_answer(900, [], Response("x", prompt_tokens=900)).invalid == ()
    assert check_answer(900, [], Response("x", prompt_tokens=910)).invalid == ("token_mismatch",)
    assert check_answer(900, [], Response("x")).flags == ("no_usage",)
    # A stale answer is invalid whatever its count.
    stale = "the answer to another request: ..."
    assert check_answer(900, [], Response("x", prompt_tokens=900, stale=stale)) == Check(("stale_answer",), why=stale)


@pytest.mark.parametrize(
    ("calibration", "served", "invalid"),
    [
        (Calibration("inconsistent", why="no constant"), 900, ("token_mismatch",)),
        (Calibration("inconsistent", why="no constant"), None, ()),
        (Calibration("failed", why="boom"), 900, ()),
        (Calibration("failed", why="boom"), 907, ("uncalibrated",)),
        (Calibration("failed", why="boom"), 800, ("server_truncated",)),
        (Calibration("no_usage"), None, ()),
        (Calibration("no_usage"), 800, ("server_truncated",)),
    ],
)
def test_without_a_constant(calibration, served, invalid):
    found = check_answer(900, [], Response("x", prompt_tokens=served, calibration=calibration))
    assert found.invalid == invalid
    assert not invalid or calibration.why in found.why


@pytest.mark.parametrize(
    ("text", "reasoning", "flagged"),
    [
        ("I do not know.", "It says 4829173.", True),
        ("4829173", "It says 4829173.", False),
        ("", "14829173", False),
        ("", "", False),
    ],
)
def test_a_value_that_stands_in_the_reasoning_alone(text, reasoning, flagged):
    found = check_answer(900, ["4829173"], Response(text, reasoning, prompt_tokens=900))
    assert ("answer_in_reasoning" in found.flags) == flagged


HERE = canaries("en", seed=0, repeat=0)
WHY = "asked for the marks at both ends of the text, the model does not have the one at the"
BOTH = f"They are {' and '.join(HERE.marks)}."


def test_the_seed_and_the_repeat_change_the_marks_and_nothing_else_does():
    assert canaries("en", seed=0, repeat=0) == HERE
    assert canaries("en", seed=1, repeat=0).marks[0] != HERE.marks[0]
    assert canaries("en", seed=0, repeat=1).marks[1] != HERE.marks[1]
    assert HERE.marks[0] != HERE.marks[1]
    for found in (canaries(language, seed=3, repeat=1) for language in ("en", "zh")):
        assert [mark in text for mark, (_, text) in zip(found.marks, found.statements, strict=True)] == [True, True]


@pytest.mark.parametrize(
    ("say", "missing"),
    [
        (lambda c: ", ".join(c.marks), ()),
        (lambda c: f"{c.marks[0][:3].lower()}-{c.marks[0][3:]} {c.marks[1]}", ()),
        (lambda c: c.marks[1], ("start",)),
        (lambda c: c.marks[0], ("end",)),
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
        (Response(HERE.marks[1]), True, Check(flags=("canary_start_missing",))),
        (Response(error=ModelError("timeout", "no answer")), False, Check(flags=("canary_unasked",))),
        # Without a count they are invalid.
        (Response("No."), False, Check(("canary_start_missing", "canary_end_missing"), why=f"{WHY} start and end")),
        (Response(HERE.marks[1]), False, Check(("canary_start_missing",), why=f"{WHY} start")),
    ],
)
def test_missing_marks_are_flags_where_the_count_vouches_for_the_prompt(response, counted, checked):
    assert check_canaries(HERE, response, counted=counted) == checked
