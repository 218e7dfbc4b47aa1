"""Replies of servers: the same thing under each server's name for it, streams, reasoning, answers that are too long."""

import json
import time
from dataclasses import replace

import pytest

from needlework.models.model import Response, part_reasoning
from needlework.models.served.errors import HangUpError
from needlework.models.served.reply import (
    Events,
    checked_by_budget,
    finish_of,
    read_body,
    text_and_reasoning,
    token_counts,
)

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
    (
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "P"},
            ]
        },
        "P",
        "hm",
    ),
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


def stream(*choices, **more):
    lines = [json.dumps({"choices": [choice], **more}) for choice in choices]
    said = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()
    whole, in_bytes = Events("", 0.0), Events("", 0.0)
    assert whole.take(said)
    assert [in_bytes.take(bytes([byte])) for byte in said][-2:] == [True, True]
    assert replace(whole.reply(), ttft_s=None) == replace(in_bytes.reply(), ttft_s=None)
    return whole.reply()


def test_a_stream_with_reasoning_and_an_emoji_in_two_halves():
    reply = stream(
        {"delta": {"reasoning": "so "}},
        {"delta": {"reasoning": "42"}},
        {"delta": {"content": "Paris \ud83d"}},
        {"delta": {"content": "\ude00\ud83d"}, "finish_reason": "stop"},
        id="chatcmpl-1",
    )
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
        ("one two three " * 40, "", 560, True),
        ("Paris", "one two three " * 40, 5, True),
        ("Paris. " * 2_000_000, "", 32 * (64 + 16), True),  # of one that never ends the beginning is left
    ],
)
def test_answers_that_are_longer_than_they_may_be(chat, mock_tokenizer, text, reasoning, left, over):
    reply = Response(text, reasoning, "stop", completion_tokens=8)
    checked = checked_by_budget(reply, chat(mock_tokenizer, "What?", 64), mock_tokenizer)
    assert (len(checked.text), "over_budget" in checked.flags) == (left, over)


@pytest.mark.parametrize(
    ("text", "prompt", "answer", "reasoning"),
    [
        ("Paris.", "", "Paris.", ""),
        ("  Paris.\n", "", "  Paris.\n", ""),
        ("<think>hm 42</think>\nParis.", "", "Paris.", "hm 42"),
        ("<think>hm 42", "", "", "hm 42"),
        ("hm 42</think>Paris.", "", "Paris.", "hm 42"),
        ("hm 42", "...<think>\n", "", "hm 42"),
        ("hm</think>Paris.", "...<think>\n", "Paris.", "hm"),
        ("Paris.", "...<think>\n\n</think>\n\n", "Paris.", ""),
        ("[THINK]hm[/THINK]Paris.", "", "Paris.", "hm"),
        ("<think>a</think>One. <think>b</think>Two.", "", "One. Two.", "a\nb"),
        ("<think></think>Paris.", "", "Paris.", ""),
        ("", "", "", ""),
        ("A document about <think> tags", "text with <think> inside it", "A document about", "tags"),
    ],
)
def test_split(text, prompt, answer, reasoning):
    assert part_reasoning(text, prompt)[:2] == (answer, reasoning)


NAMES = ("think", "thinking", "thought", "reasoning", "seed:think")
MARKS = [
    *((f"<{name}>", f"</{name}>") for name in NAMES),
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


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        (
            "<|channel|>commentary to=none<|message|>A plan.<|end|><|channel|>final <|message|>Paris.<|return|>",
            ("Paris.", "A plan.", False),
        ),
        ("<|channel|>final<|message|>Paris.", ("Paris.", "", False)),
        ("<|channel|>analysis", ("", "", True)),
        # Servers drop special tokens.
        ("analysisWe need it. 42?assistantfinalParis.", ("Paris.", "We need it. 42?", False)),
        ("analysisWe need the code.", ("", "We need the code.", True)),
        ("analysis of the text gives 42", ("analysis of the text gives 42", "", False)),
    ],
)
def test_channels(text, parted):
    assert part_reasoning(text) == parted
