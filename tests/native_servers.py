"""Servers on this machine that speak Anthropic's and Google's own protocols, as far as their clients use them here.

The forms are those of the clients' own types: streamed messages and content, counters of tokens, lists of models.
"""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.loopback import Asked, HttpAnswer, http_server

TEMPLATE = 11  # tokens that the provider's template adds to a prompt


@dataclass(frozen=True)
class Reply:
    """What is said. `status` other than 200: `error` is the body. `tokens`: what `usage` tells, counted if `None`.

    `broken`: an error event in the middle of the stream. `cut`: the stream ends in the middle.
    """

    text: str = ""
    thinking: str = ""
    stop: str = ""
    status: int = 200
    error: Any = None
    tokens: int | None = None
    broken: Any = None
    cut: bool = False
    blocked: str = ""
    headers: dict[str, str] = field(default_factory=dict)


def right(question):
    """The value that was asked for."""
    return Reply(f"The code is {question.value}." if question.value else "OK.")


@dataclass
class Native:
    """The running server. `counted`: how many times its counter was asked."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    counted: int = 0
    window: int | None = 200_000


@contextmanager
def native_server(provider, say=right):
    """Run Anthropic's (`anthropic`) or Google's (`google`) protocol while the block lasts."""
    state = Native()
    counts = load_tokenizer("tiktoken:cl100k_base")

    def answer(request):
        name = request.path.partition("?")[0].partition(":")[0].rpartition("/")[2]
        if request.method == "GET":
            if provider == "anthropic":
                return HttpAnswer({"id": name, "display_name": name, "max_input_tokens": state.window})
            return HttpAnswer({"name": f"models/{name}", "inputTokenLimit": state.window})
        texts = _texts(request.body)
        tokens = TEMPLATE + sum(len(counts.encode(text).ids) for text in texts)
        if "count" in request.path:
            state.counted += 1
            return HttpAnswer({"input_tokens" if provider == "anthropic" else "totalTokens": tokens})
        question = Asked("\n".join(texts), request.headers, request.body, request.path)
        state.asked.append(question)
        reply = say(question)
        if reply.status != 200:
            return HttpAnswer(reply.error, reply.status, headers=reply.headers)
        tokens = tokens if reply.tokens is None else reply.tokens
        if provider == "anthropic":
            events = _claude(reply, request.body, tokens)
        else:
            events = _gemini(reply, request.body, tokens, name)
        return HttpAnswer("".join(events), kind="text/event-stream")

    with http_server(answer) as state.url:
        yield state


_HOLD_TEXTS = ("system", "systemInstruction", "messages", "contents", "text", "content", "parts")


def _texts(value):
    """Every text of a request, in its order, the system's first."""
    if isinstance(value, str):
        return [value]
    parts = value if isinstance(value, list) else [value[name] for name in _HOLD_TEXTS if name in value]
    return [text for part in parts for text in _texts(part)]


def _claude(reply, body, tokens):
    def event(kind, **fields):
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    usage = {"input_tokens": tokens, "output_tokens": 1}
    message = {
        "id": f"msg_{abs(hash(json.dumps(body))):024x}", "type": "message", "role": "assistant", "content": [],
        "model": f"{body['model']}-20260101", "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield event("message_start", message=message)
    yield event("ping")
    if reply.broken is not None:
        yield event("error", error=reply.broken)
        return
    blocks = [("thinking", "thinking_delta", reply.thinking), ("text", "text_delta", reply.text)]
    for index, (kind, delta, text) in enumerate(block for block in blocks if block[2]):
        empty = {"type": kind, kind: ""} | ({"signature": ""} if kind == "thinking" else {})
        yield event("content_block_start", index=index, content_block=empty)
        for piece in (text[:3], text[3:]):
            yield event("content_block_delta", index=index, delta={"type": delta, kind: piece})
        yield event("content_block_stop", index=index)
    if reply.cut:
        return
    words = len(f"{reply.text}{reply.thinking}") // 4 + 1
    yield event("message_delta", delta={"stop_reason": reply.stop or "end_turn"}, usage={"output_tokens": words})
    yield event("message_stop")


def _gemini(reply, body, tokens, name):
    usage = {"promptTokenCount": tokens}
    names = {"modelVersion": f"{name}-001", "responseId": f"r{abs(hash(json.dumps(body))):024x}"}
    if reply.blocked:
        told = {"promptFeedback": {"blockReason": reply.blocked}, "usageMetadata": usage, **names}
        yield f"data: {json.dumps(told)}\r\n\r\n"
        return
    parts = [{"text": reply.thinking, "thought": True}] if reply.thinking else []
    content = {"role": "model", "parts": [*parts, {"text": reply.text[:3]}]}
    first = {"candidates": [{"content": content, "index": 0}], "usageMetadata": usage, **names}
    yield f"data: {json.dumps(first)}\r\n\r\n"
    if reply.cut:
        return
    usage |= {"candidatesTokenCount": len(reply.text) // 4 + 1, "thoughtsTokenCount": len(reply.thinking) // 4}
    content = {"role": "model", "parts": [{"text": reply.text[3:]}]}
    last = {"content": content, "finishReason": reply.stop or "STOP", "index": 0}
    other = {"content": {"role": "model", "parts": [{"text": "Another candidate."}]}, "index": 1}
    yield f"data: {json.dumps({'candidates': [last, other], 'usageMetadata': usage, **names})}\r\n\r\n"
