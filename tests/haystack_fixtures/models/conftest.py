"""Shared by the tests of models: prompts, the embedded model, a real server, and a server with planted faults."""

import hashlib

import pytest

from needlework.core.files import default_cache_dir
from needlework.core.prompts import Message, Prompt, RenderedForms
from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions
from needlework.models.specs import load_model, resolve_tokenizer
from tests.haystack_fixtures.models.served.planted_http import planted_server
from tests.llama_server import llama_server  # noqa: F401 - a fixture


def make_prompt(tokenizer, text, messages=()):
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
def cache_dir():
    return default_cache_dir()


@pytest.fixture(scope="session")
def smol_tokenizer(cache_dir):
    return resolve_tokenizer("smollm2", {}, None, cache_dir)


@pytest.fixture(scope="session")
def smol(cache_dir, smol_tokenizer):
    model = load_model(
        "smollm2", model_args={}, tokenizer=smol_tokenizer, connection=ServerOptions(), cache_dir=cache_dir, threads=1
    )
    yield model
    model.close()


@pytest.fixture(scope="session")
def mock_tokenizer(cache_dir):
    return resolve_tokenizer("mock:perfect", {}, None, cache_dir)


@pytest.fixture(scope="session")
def chat():
    """`chat(tokenizer, question, budget)`: a chat request as the prompt builder would make it."""

    def make(tokenizer, question, budget=16, **more):
        messages = (Message("user", question),)
        return Request(make_prompt(tokenizer, tokenizer.render_chat(messages), messages), "chat", budget, **more)

    return make


@pytest.fixture(scope="session")
def raw():
    """`raw(tokenizer, text, budget)`: a request without a template."""

    def make(tokenizer, text, budget=16, **more):
        return Request(make_prompt(tokenizer, text), "raw", budget, **more)

    return make


@pytest.fixture
def planted():
    with planted_server() as server:
        yield server
