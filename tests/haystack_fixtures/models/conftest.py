"""Shared by the tests of models: prompts, the embedded model, a real server, and a server with planted faults."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from needlework.core.files import default_cache_dir
from needlework.core.prompts import Message, Prompt, RenderedForms
from needlework.models.model import Model, Request
from needlework.models.served.connection import ServerOptions
from needlework.models.specs import load_model, resolve_tokenizer
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.served.planted_http import PlantedServer, planted_server
from tests.llama_server import llama_server  # noqa: F401 - a fixture

Ask = Callable[..., Request]


def make_prompt(tokenizer: Tokenizer, text: str, messages: tuple[Message, ...] = ()) -> Prompt:
    return Prompt(
        forms=RenderedForms(messages, text, tokenizer.encode(text).ids),
        context=(0, 0),
        context_tokens=0,
        placed=(),
        slack=0,
        corpus_passes=0.0,
        text_sha256=hashlib.sha256(text.encode()).hexdigest(),
        filler_sha256="",
    )


@pytest.fixture(scope="session")
def cache_dir() -> Path:
    return default_cache_dir()


@pytest.fixture(scope="session")
def smol_tokenizer(cache_dir: Path) -> Tokenizer:
    return resolve_tokenizer("smollm2", {}, None, cache_dir)


@pytest.fixture(scope="session")
def smol(cache_dir: Path, smol_tokenizer: Tokenizer) -> Iterator[Model]:
    model = load_model(
        "smollm2", model_args={}, tokenizer=smol_tokenizer, connection=ServerOptions(), cache_dir=cache_dir, threads=1
    )
    yield model
    model.close()


@pytest.fixture(scope="session")
def mock_tokenizer(cache_dir: Path) -> Tokenizer:
    return resolve_tokenizer("mock:perfect", {}, None, cache_dir)


@pytest.fixture(scope="session")
def chat() -> Ask:
    """`chat(tokenizer, question, budget)`: a chat request as the prompt builder would make it."""

    def make(tokenizer: Tokenizer, question: str, budget: int = 16, **more: Any) -> Request:
        messages = (Message("user", question),)
        return Request(make_prompt(tokenizer, tokenizer.render_chat(messages), messages), "chat", budget, **more)

    return make


@pytest.fixture(scope="session")
def raw() -> Ask:
    """`raw(tokenizer, text, budget)`: a request without a template."""

    def make(tokenizer: Tokenizer, text: str, budget: int = 16, **more: Any) -> Request:
        return Request(make_prompt(tokenizer, text), "raw", budget, **more)

    return make


@pytest.fixture
def planted() -> Iterator[PlantedServer]:
    with planted_server() as server:
        yield server
