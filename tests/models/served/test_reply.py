"""Replies of servers, and failed attempts: fields under many names, streams, reasoning, statuses, too long prompts."""

import json
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from needlework.models.model import Response, part_reasoning
from needlework.models.served.errors import HangUpError, HttpError, fault_of_status, retry_after, says_too_long
from needlework.models.served.reply import (
    Events,
    checked_by_budget,
    finish_of,
    read_body,
    text_and_reasoning,
    token_counts,
)
from tests.models.conftest import chat

MESSAGES = [
    ({"content": "Paris"}, "Paris", ""),
    ({"content": None}, "", ""),
    ({}, "", ""),
    ({"content": 4829173}, "4829173", ""),
    ({"content": "Paris", "reasoning_content": "hm"}, "Paris", "hm"),
    ({"content": "Paris", "reasoning": "hm"}, "Paris", "hm"),
    ({"content": "Paris", "reasoning_content": None, "reasoning": "hm"}, "Paris", "hm"),
    ({"content": "Paris", "reasoning_content": "hm", "reasoning": "hm"}, "Paris", "hm"),
    ({"content": "Paris", "thinking": "hm"}, "Paris", "hm"),
    ({"content": "Paris", "reasoning": {"content": "hm"}}, "Paris", "hm"),
    ({"content": "", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "x"}]}, "", "hm"),
    ({"content": "Paris", "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]}, "Paris", "hm"),
    ({"content": "Paris", "reasoning_details": [{"type": "reasoning.encrypted", "data": "abc"}]}, "Paris", ""),
    ({"content": "Paris", "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]}, "Paris", "hm"),
    ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Paris"}]}, "Paris", "hm"),
    ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, "Paris"]}, "Paris", "hm"),
    ({"content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "output_text", "text": "Paris"}]}, "Paris", "hm"),
    ({"content": [{"type": "redacted_thinking", "data": "abc"}, {"type": "text", "text": "Paris"}]}, "Paris", ""),
    ({"content": ["Par", "is"]}, "Paris", ""),
    ({"content": {"type": "text", "text": "Paris"}}, "Paris", ""),
    ({"content": None, "refusal": "I can't help with that."}, "I can't help with that.", ""),
    ({"content": [{"type": "refusal", "refusal": "No, sorry."}]}, "No, sorry.", ""),
    ({"content": None, "tool_calls": [{"id": "1"}]}, "", ""),
]


@pytest.mark.parametrize(("message", "text", "thought"), MESSAGES)
def test_answer_and_reasoning(message, text, thought):
    assert text_and_reasoning({"message": message}) == (text, thought)
    assert text_and_reasoning({"delta": message, "message": {"content": "of a last event"}}) == (text, thought)
    if not thought:
        assert text_and_reasoning({"text": text}) == (text, "")


@pytest.mark.parametrize(
    ("usage", "timings", "prompt", "completion", "cached", "reasoning"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 3}, {}, 9, 3, None, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, {}, 9, None, 4, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, {}, 9, None, None, None),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, {}, 9, None, 4, None),
        ({"input_tokens": 9, "output_tokens": 3, "cache_read_input_tokens": 4}, {}, 13, 3, 4, None),
        ({"prompt_tokens": 2, "cache_creation_input_tokens": 7}, {}, 9, None, None, None),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 4}, {}, 9, None, 4, None),
        ({"prompt_eval_count": 9, "eval_count": 3}, {}, 9, 3, None, None),
        ({"prompt_tokens": 0, "completion_tokens": 3}, {}, None, 3, None, None),
        ({}, {"prompt_n": 1, "cache_n": 8, "predicted_n": 3}, 9, 3, 8, None),
        ({"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}}, {}, None, 9, None, 7),
        ({"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 7}}, {}, None, 9, None, 7),
        ({"completion_tokens": 9, "reasoning_tokens": 7}, {}, None, 9, None, 7),
        ({"prompt_tokens": True, "completion_tokens": "3"}, {}, None, None, None, None),
        ({"prompt_tokens": float("nan"), "completion_tokens": float("inf")}, {}, None, None, None, None),
        ({"prompt_tokens": -1}, {}, None, None, None, None),
        ({"prompt_tokens": 9.0}, {}, 9, None, None, None),
    ],
)
def test_counts(usage, timings, prompt, completion, cached, reasoning):
    counts = (prompt, completion, reasoning, cached)
    names = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
    assert token_counts(usage, timings) == dict(zip(names, counts, strict=True))


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("stop", "stop"), ("STOP", "stop"), ("eos_token", "stop"), ("end_turn", "stop"), ("length", "length"),
        ("MAX_TOKENS", "length"), ("model_length", "length"), ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"), ("tool_calls", "tool_calls"), ("something_new", "something_new"),
        (None, "missing"), ("", "missing"), (7, "7"), (["stop"], "['stop']"),
    ],
)  # fmt: skip
def test_finish_reasons(word, meaning):
    assert finish_of(word) == meaning


def test_a_server_that_gave_up_is_asked_again():
    body = {"choices": [{"finish_reason": "Abort", "message": {"content": "The code is"}}]}
    with pytest.raises(HangUpError, match="gave up"):
        read_body(json.dumps(body).encode(), "")


def test_a_stream_with_reasoning_and_an_emoji_in_two_halves():
    choices = [
        {"delta": {"reasoning": "so "}},
        {"delta": {"reasoning": "42"}},
        {"delta": {"content": "Paris \ud83d"}},
        {"delta": {"content": "\ude00\ud83d"}, "finish_reason": "stop"},
    ]
    lines = [json.dumps({"choices": [choice], "id": "chatcmpl-1"}) for choice in choices]
    said = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()
    whole, in_bytes = Events("", 0.0), Events("", 0.0)
    assert whole.take(said)
    assert [in_bytes.take(bytes([byte])) for byte in said][-2:] == [True, True]
    reply = whole.reply()
    assert replace(reply, ttft_s=None) == replace(in_bytes.reply(), ttft_s=None)
    assert (reply.text, reply.reasoning, reply.id) == ("Paris \U0001f600\ufffd", "so 42", "chatcmpl-1")


@pytest.mark.parametrize(
    ("chunks", "known"),
    [
        ([["Pa", "ris"]], False),  # a proxy held it back
        ([["Pa"], ["ris"]], True),
        ([[], ["Pa", "ris"], []], False),
        ([["Paris"]], False),
    ],
)
def test_the_first_token_has_a_time_where_it_came_before_the_last(chunks, known):
    reading = Events("", time.perf_counter())
    for words in chunks:
        pieces = [{"choices": [{"delta": {"content": word}}]} for word in words] or [{"choices": []}]
        reading.take("".join(f"data: {json.dumps(each)}\n\n" for each in pieces).encode())
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"completion_tokens": 2}}
    reading.take(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
    assert (reading.reply().ttft_s is not None) == known


def test_reasoning_that_the_server_has_parted_already():
    prompt = "...<think>\n"
    plain = {"choices": [{"finish_reason": "stop", "message": {"content": "Paris"}}]}
    assert read_body(json.dumps(plain).encode(), prompt).text == ""  # nobody closed the block
    told = plain | {"usage": {"completion_tokens_details": {"reasoning_tokens": 9}}}
    assert read_body(json.dumps(told).encode(), prompt).text == "Paris"


@pytest.mark.parametrize(
    ("text", "reasoning", "left", "over"),
    [
        ("Paris", "", 5, False),
        ("one two three " * 24, "", 336, False),  # a few more by our count, perhaps not by the server's
        ("one two three " * 40, "", 560, True),
        ("Paris", "one two three " * 40, 5, True),
        ("Paris. " * 2_000_000, "", 32 * (64 + 16), True),  # of one that never ends the beginning is left
    ],
)
def test_answers_that_are_longer_than_they_may_be(mock_tokenizer, text, reasoning, left, over):
    reply = Response(text, reasoning, "stop", completion_tokens=8)
    checked = checked_by_budget(reply, chat(mock_tokenizer, "What?", 64), mock_tokenizer)
    assert (len(checked.text), "over_budget" in checked.flags) == (left, over)


@pytest.mark.parametrize(
    ("text", "prompt", "answer", "reasoning", "is_unclosed"),
    [
        ("Paris.", "", "Paris.", "", False),
        ("  Paris.\n", "", "  Paris.\n", "", False),
        ("<think>hm 42</think>\nParis.", "", "Paris.", "hm 42", False),
        ("<think>hm 42", "", "", "hm 42", True),
        ("hm 42</think>Paris.", "", "Paris.", "hm 42", False),
        ("hm 42", "...<think>\n", "", "hm 42", True),
        ("hm</think>Paris.", "...<think>\n", "Paris.", "hm", False),
        ("Paris.", "...<think>\n\n</think>\n\n", "Paris.", "", False),
        ("[THINK]hm[/THINK]Paris.", "", "Paris.", "hm", False),
        ("<think>a</think>One. <think>b</think>Two.", "", "One. Two.", "a\nb", False),
        ("<think></think>Paris.", "", "Paris.", "", False),
        ("", "", "", "", False),
        ("A document about <think> tags", "text with <think> inside it", "A document about", "tags", True),
        ("<|channel|>commentary to=a<|message|>hm<|end|><|channel|>final <|message|>P<|return|>", "", "P", "hm", False),
        ("<|channel|>final<|message|>Paris.", "", "Paris.", "", False),
        ("<|channel|>analysis", "", "", "", True),
        # Servers drop special tokens.
        ("analysisWe need it. 42?assistantfinalParis.", "", "Paris.", "We need it. 42?", False),
        ("analysisWe need the code.", "", "", "We need the code.", True),
        ("analysis of the text gives 42", "", "analysis of the text gives 42", "", False),
    ],
)
def test_split(text, prompt, answer, reasoning, is_unclosed):
    assert part_reasoning(text, prompt) == (answer, reasoning, is_unclosed)


MARKS = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think")),
    ("<Think>", "</THINK>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("Here is my thought process:", "Here is my response:"),
    ("Here's my thought process:", "Here's my response:"),
]


@pytest.mark.parametrize(("opening", "closing"), MARKS)
def test_every_pair_of_marks(opening, closing):
    whole = f"{opening}\nIs it 42?\n{closing}\nParis."
    assert part_reasoning(whole) == ("Paris.", "Is it 42?", False)
    assert part_reasoning(f"{opening}\nIs it 42?") == ("", "Is it 42?", True)


def test_marks_without_their_other_half():
    for _, closing in MARKS[:11]:  # the template has opened the block
        assert part_reasoning(f"Is it 42?\n{closing}\n\nParis.") == ("Paris.", "Is it 42?", False)
    long = part_reasoning("<think>a</think>" * 100_000 + "Paris")  # in linear time
    assert (long.answer, len(long.reasoning)) == ("Paris", 199_999)


RETRY = {"retry": True}
FATAL = {"fatal": True}
TOO_LONG = {"too_long": True}
FILTERED = {"filtered": True}


@pytest.mark.parametrize(
    ("status", "message", "kind", "facts"),
    [
        (500, "boom", "server", {**RETRY, "sign": "broken"}),
        (502, "Bad Gateway", "server", {**RETRY, "sign": "down"}),
        (522, "origin timed out", "server", {**RETRY, "sign": "down"}),
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


@pytest.mark.parametrize(
    ("status", "words", "pattern", "is_too_long"),
    [
        *((400, words, None, True) for words in TOO_LONG_WORDS),
        *((401, words, None, False) for words in TOO_LONG_WORDS),
        *((400, words, None, False) for words in (*SOMETHING_ELSE, "prompt length " * 4000)),  # in linear time
        (413, "<html><title>413 request entity too large</title></html>", None, True),
        (413, "request too large on tokens per minute (tpm): limit 6000", None, False),
        (418, "the pot is full", None, False),
        (418, "the pot is full", re.compile("pot is FULL", re.IGNORECASE), True),
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_prompt_that_does_not_fit_is_known_by_its_status_and_words(status, words, pattern, is_too_long):
    assert says_too_long(status, words.lower(), pattern) == is_too_long
