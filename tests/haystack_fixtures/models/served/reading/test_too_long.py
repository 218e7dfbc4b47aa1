"""Which refusals say that a prompt does not fit: servers' own wordings, and those that say something else."""

from __future__ import annotations

import re

import pytest

from needlework.models.served.errors import says_too_long

TOO_LONG = [
    "Range of input length should be [1, 30720]",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 266000)",
    "Prompt 超长",
    "输入内容过长，请缩短后重试",
    "输入长度超过模型上下文限制",
    "Prompt exceeds max length",
    "Total tokens of image and text exceed max message tokens",
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    "Prompt length (5000) exceeds maximum input length (4096). Set log level to info",
    "The sum of prompt length (5000.0), query length (0) should not exceed max_num_tokens (4096)",
    "input token length 5000 exceeds session_len 4096",
    "Prompt length 5000 is greater than max_seq_len 4096",
    "Please reduce the length of the messages or completion.",
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


@pytest.mark.parametrize("words", TOO_LONG)
def test_a_prompt_that_does_not_fit(words: str) -> None:
    assert says_too_long(400, words.lower())
    assert not says_too_long(401, words.lower())


@pytest.mark.parametrize("words", SOMETHING_ELSE)
def test_something_else(words: str) -> None:
    assert not says_too_long(400, words.lower())


def test_a_body_that_is_too_large_for_a_proxy_is_too_long_unless_it_is_about_a_rate() -> None:
    assert says_too_long(413, "<html><title>413 request entity too large</title></html>")
    assert not says_too_long(413, "request too large on tokens per minute (tpm): limit 6000")


def test_a_pattern_of_ones_own_knows_a_server_whose_words_nobody_knows() -> None:
    assert not says_too_long(418, "the pot is full")
    assert says_too_long(418, "the pot is full", re.compile("pot is FULL", re.IGNORECASE))


def test_a_long_page_is_read_in_linear_time() -> None:
    assert not says_too_long(400, "prompt length " * 4000)
