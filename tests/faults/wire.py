"""From an answer to the bytes of an OpenAI-compatible response: one JSON object, or a stream of events."""

import json
import re
from typing import Any

from tests.faults.turns import Wire

MODEL = "oracle"
EVENTS = "text/event-stream"


def body(said, name, *, chat):
    """The answer as one JSON object; `name` is its id."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": said.finish, "logprobs": None}
    if chat:
        message = {"role": "assistant", "content": said.content, **_reasoning(said), **said.message}
        choice["message"] = message
    else:
        choice["text"] = said.content
    kind = "chat.completion" if chat else "text_completion"
    answer = {**_head(name, kind), "choices": [choice]}
    return as_json(answer if said.usage is None else {**answer, "usage": said.usage})


def events(said, name, *, chat, usage=True):
    """The answer as server-sent events, a word at a time; `usage`: whether the counts come in a last event."""
    kind = "chat.completion.chunk" if chat else "text_completion"
    chunks: list[dict[str, Any]] = []
    if chat:
        chunks.append({"delta": {"role": "assistant", **said.message}})
        if said.reasoning is not None:
            chunks += [{"delta": {"reasoning_content": word}} for word in words(said.reasoning)]
    parts = words(said.content) if isinstance(said.content, str) else [said.content]
    chunks += [{"delta": {"content": part}} if chat else {"text": part} for part in parts]
    chunks.append({"delta": {}, "finish_reason": said.finish} if chat else {"text": "", "finish_reason": said.finish})
    made = [
        {**_head(name, kind), "choices": [{"index": 0, "logprobs": None, "finish_reason": None, **chunk}]}
        for chunk in chunks
    ]
    if usage and said.usage is not None:
        made.append({**_head(name, kind), "choices": [], "usage": said.usage})
    return Wire((*(event(chunk) for chunk in made), b"data: [DONE]\n\n"), kind=EVENTS)


def words(text):
    """A text in pieces as a tokenizer would give them; together they are the text."""
    return re.findall(r"\s*\S{1,8}|\s+$", text)


def event(data):
    """One server-sent event."""
    return b"data: " + _dumped(data) + b"\n\n"


def as_json(data, status=200, **headers):
    """A JSON body."""
    return Wire((_dumped(data),), status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def error(status, message, code=None, **headers):
    """An error as OpenAI's own API words it."""
    return as_json({"error": {"message": message, "type": "error", "param": None, "code": code}}, status, **headers)


def page(status, title):
    """A proxy's HTML page."""
    html = f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return Wire((html.encode(),), status, "text/html")


def _head(name, kind):
    return {"id": name, "object": kind, "created": 1, "model": MODEL}


def _reasoning(said):
    return {} if said.reasoning is None else {"reasoning_content": said.reasoning}


def _dumped(data):
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
