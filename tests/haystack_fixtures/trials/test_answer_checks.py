"""What an answer proves about itself: the server's count against ours, and where the value stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.models.model import Calibration, Response
from needlework.pipeline.exchange import TOLERANCE, check_answer

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


def test_a_stale_answer_is_invalid_whatever_its_count():
    found = check_answer(900, [], Response("x", prompt_tokens=900, stale="the answer to another request: ..."))
    assert (found.invalid, found.why) == (("stale_answer",), "the answer to another request: ...")


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
