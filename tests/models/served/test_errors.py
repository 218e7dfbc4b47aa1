"""What a failed attempt means: statuses with their bodies, waits, and refusals for length in servers' own words."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from needlework.models.served.errors import (
    HttpError,
    fault_of_status,
    retry_after,
    says_too_long,
)

RETRY = {"retry": True}
FATAL = {"fatal": True}
TOO_LONG = {"too_long": True}
FILTERED = {"filtered": True}


@pytest.mark.parametrize(
    ("status", "message", "kind", "facts"),
    [
        (500, "boom", "server", {**RETRY, "sign": "broken"}),
        (502, "Bad Gateway", "server", {**RETRY, "sign": "down"}),
        (503, "Loading model", "server", {**RETRY, "sign": "busy"}),
        (504, "gateway time-out", "timeout", {**RETRY, "sign": "slow"}),
        (529, "Overloaded", "server", {**RETRY, "sign": "busy"}),
        (429, "slow down", "rate_limit", {**RETRY, "sign": "busy"}),
        (429, "Request too large for m: Limit 30000, Requested 40000", "client", {}),
        (429, "no credit: insufficient_quota", "client", FATAL),
        (501, "no such thing here", "server", {"retry": False}),
        (401, "Incorrect API key", "client", FATAL),
        (402, "Insufficient Balance", "client", FATAL),
        (403, "no access", "client", FATAL),
        (404, "The model m does not exist", "client", FATAL),
        (400, "API key not valid. Please pass a valid API key.", "client", FATAL),
        (400, "Your credit balance is too low to access the Anthropic API.", "client", FATAL),
        (400, "bad parameter", "client", {}),
        (400, "content_filter", "client", FILTERED),
        (400, "data_inspection_failed", "client", FILTERED),
        (403, "moderation", "client", FILTERED),
        (400, "This model's maximum context length is 4096", "client", TOO_LONG),
        (500, "input (1201 tokens) is too large to process. increase the physical batch size", "client", TOO_LONG),
        (500, "litellm.ContextWindowExceededError: context window exceeded", "client", TOO_LONG),
        (500, "cannot allocate memory for context length 131072", "server", RETRY),
    ],
)
def test_a_status_with_its_words(status, message, kind, facts):
    fault = fault_of_status(HttpError(status, {"error": {"message": message}}))
    flags = {"retry": False, "fatal": False, "filtered": False, "too_long": False} | facts
    assert fault.kind == kind
    assert {name: getattr(fault, name) for name in flags} == flags
    assert message in fault.message


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (HttpError(307, headers={"Location": "https://elsewhere/v1"}), "on to https://elsewhere/v1: give that"),
        (HttpError(301, headers={"location": "http://b:1/v1/chat/completions"}), "http://b:1/v1: give that"),
        (HttpError(302, headers={"Location": "http://u:p@b/v1?token=planted"}), "on to http://b/v1: give that"),
        (HttpError(429, headers={"Retry-After": "86400"}), "1440 minutes"),
        (HttpError(503, {"message": "overloaded"}, inside=True), "HTTP 200 with an error inside: overloaded"),
        (HttpError(202), "HTTP 202: without a word"),
    ],
)
def test_what_is_told(error, words):
    fault = fault_of_status(error)
    assert words in fault.message
    assert "planted" not in fault.message


NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"Retry-After": "2.5"}, "", 2.5),
        ({"retry-after-ms": "250"}, "", 0.25),
        ({"RETRY-AFTER": (NOW + timedelta(seconds=30)).strftime("%a, %d %b %Y %H:%M:%S GMT")}, "", 30),
        ({"Retry-After": str(NOW.timestamp() + 40)}, "", 40),
        ({}, '{"retryDelay": "3.5s"}', 3.5),
        ({"Retry-After": "soon"}, "", None),
        ({"Retry-After": "inf"}, "", None),
        ({"Retry-After": "nan"}, "", None),
        ({}, "", None),
    ],
)
def test_how_long_to_wait(headers, text, seconds):
    assert retry_after(headers, text, now=NOW) == seconds


TOO_LONG_WORDS = [  # beside those of tests/faults
    "输入内容过长，请缩短后重试",
    "输入长度超过模型上下文限制",
    "Prompt exceeds max length",
    "Total tokens of image and text exceed max message tokens",
    "The sum of prompt length (5000.0), query length (0) should not exceed max_num_tokens (4096)",
    "context shift is disabled",
    "prompt token count of 200000 exceeds the limit of 128000",
    "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
    "prompt length (8000) > max model length (4096)",
    "'max_tokens' is too large: 512. This model's maximum context length is 4096 tokens",
]
SOMETHING_ELSE = [
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "Range of max_tokens should be [1, 2000]",
    "Too many tokens, please wait before trying again.",
    "Rate limit reached: tokens per minute (TPM): Limit 6000, Used 5000",
    "messages must have at most 100 items",
    "temperature must be at most 2",
    "user name length exceeds 64 characters",
    "model not found",
    "internal server error",
]


POT = re.compile("pot is FULL", re.IGNORECASE)
MADE_SLOW = "prompt length " * 4000  # read in linear time


@pytest.mark.parametrize(
    ("status", "words", "pattern", "is_too_long"),
    [
        *((400, words, None, True) for words in TOO_LONG_WORDS),
        *((401, words, None, False) for words in TOO_LONG_WORDS),
        *((400, words, None, False) for words in (*SOMETHING_ELSE, MADE_SLOW)),
        (413, "<html><title>413 request entity too large</title></html>", None, True),
        (413, "request too large on tokens per minute (tpm): limit 6000", None, False),
        (418, "the pot is full", None, False),
        (418, "the pot is full", POT, True),
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_prompt_that_does_not_fit_is_known_by_its_status_and_words(status, words, pattern, is_too_long):
    assert says_too_long(status, words.lower(), pattern) == is_too_long
