"""A language model as a judge: one question, one reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from haystack_fixtures.cache import default_cache_dir
from haystack_fixtures.errors import InputError
from haystack_fixtures.models.connection import Connection
from haystack_fixtures.models.load import load_model, resolve_tokenizer
from haystack_fixtures.models.model import Model, Request, Response
from haystack_fixtures.prompts.prompt import Message, Prompt

REPLY_BUDGET = 512
_SAFE_AT_ONCE = ("openai:", "mock:")  # models that may be asked from many threads
_MODELS_OPTION = re.compile(r"--(model|base-url)(?![\w-])")


def open_judge(spec: str, connection: Connection, tokenizer: str | None, cache_dir: Path) -> Model:
    """Load the judge. Its tokenizer only counts: a served judge of unknown tokenizer is counted with cl100k."""
    if spec.startswith("openai:") and tokenizer is None:
        tokenizer = "tiktoken:cl100k_base"
    counted = resolve_tokenizer(spec, {}, tokenizer, cache_dir)
    return load_model(spec, model_args={}, tokenizer=counted, connection=connection, cache_dir=cache_dir, threads=None)


def ask(judge: Model, system: str, user: str) -> str:
    """The judge's reply. Raises `RuntimeError` when there is none: an unreachable judge is an error, never a score."""
    response = _response(judge, system, user, REPLY_BUDGET)
    if response.error is not None:
        raise RuntimeError(f"the judge did not answer: {response.error.kind}: {response.error.message}")
    return response.text


@dataclass(frozen=True)
class Judge:
    """A judge for a command of its own. `identity`: what can change its replies. `at_once`: threads that may ask it.

    `reply_budget`: tokens that a reply may have.
    """

    spec: str
    identity: Mapping[str, str | int | float | None]
    at_once: int
    reply_budget: int
    model: Model

    def ask(self, system: str, user: str) -> str:
        """The judge's reply. Raises `RuntimeError` when there is none, `InputError` when there will never be one."""
        response = _response(self.model, system, user, self.reply_budget)
        error = response.error
        if error is None:
            return response.text
        message = _as_judge(f"{error.kind}: {error.message}")
        if error.fatal:
            raise InputError("--judge", self.spec, message)
        raise RuntimeError(f"the judge did not answer: {message}")

    def close(self) -> None:
        """Let go of the model; questions in other threads end at once."""
        self.model.close()


def judge_for_command(
    spec: str, *, base_url: str | None, api_key_env: str, concurrency: int, reply_budget: int
) -> Judge:
    """Open the judge of `--judge`. Raises `InputError`; a server is not spoken to before its first question."""
    connection = Connection(base_url=base_url, api_key_env=api_key_env, concurrency=concurrency)
    try:
        model = open_judge(spec, connection, None, default_cache_dir())
    except InputError as error:
        error.args = (_as_judge(str(error)),)
        raise
    identity = {**model.identity, "reply_budget": reply_budget}
    return Judge(spec, identity, concurrency if spec.startswith(_SAFE_AT_ONCE) else 1, reply_budget, model)


def _as_judge(line: str) -> str:
    """The line with the judge's options in place of the model's."""
    return _MODELS_OPTION.sub(lambda found: "--judge" if found[1] == "model" else "--judge-base-url", line)


def _response(judge: Model, system: str, user: str, budget: int) -> Response:
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
    return judge.respond(Request(prompt, "chat", answer_budget=budget))
