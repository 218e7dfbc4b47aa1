"""A language model as a judge: one question, one reply."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np

from haystack_fixtures.models.connection import Connection
from haystack_fixtures.models.load import load_model, resolve_tokenizer
from haystack_fixtures.models.model import Model, Request
from haystack_fixtures.prompts.prompt import Message, Prompt

REPLY_BUDGET = 512


def open_judge(spec: str, connection: Connection, tokenizer: str | None, cache_dir: Path) -> Model:
    """Load the judge. Its tokenizer only counts: a served judge of unknown tokenizer is counted with cl100k."""
    if spec.startswith("openai:") and tokenizer is None:
        tokenizer = "tiktoken:cl100k_base"
    counted = resolve_tokenizer(spec, {}, tokenizer, cache_dir)
    return load_model(spec, model_args={}, tokenizer=counted, connection=connection, cache_dir=cache_dir, threads=None)


def ask(judge: Model, system: str, user: str) -> str:
    """The judge's reply. Raises `RuntimeError` when there is none: an unreachable judge is an error, never a score."""
    messages = (Message("system", system), Message("user", user))
    text = judge.tokenizer.render_chat(messages) if judge.tokenizer.has_chat_template else f"{system}\n\n{user}\n"
    ids = judge.tokenizer.encode(text).ids
    prompt = Prompt(
        messages=messages,
        text=text,
        ids=np.asarray(ids, dtype=np.int32),
        context=(0, 0),
        context_tokens=0,
        placed=(),
        slack=0,
        corpus_passes=0.0,
        text_sha256=sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        filler_sha256="",
    )
    response = judge.respond(Request(prompt, "chat", answer_budget=REPLY_BUDGET))
    if response.error is not None:
        raise RuntimeError(f"the judge did not answer: {response.error.kind}: {response.error.message}")
    return response.text
