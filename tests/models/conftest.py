"""Shared by the tests of models: prompts, the embedded model, a real server, and a server with planted faults."""

from dataclasses import replace

import pytest

from needlework.core.files import default_cache_dir
from needlework.core.prompts import Message, raw_text, rendered_prompt
from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.specs import load_model, resolve_tokenizer
from tests import toy_tokenizers
from tests.loopback import loopback

tokenizer, tokenizers = toy_tokenizers.tokenizer, toy_tokenizers.tokenizers  # fixtures


def make_prompt(tokenizer, text, messages=()):
    return rendered_prompt(messages, text, tokenizer.encode(text).ids)


def chat(tokenizer, question, budget=16, **more):
    """A chat request as the prompt builder would make it."""
    messages = (Message("user", question),)
    return Request(make_prompt(tokenizer, tokenizer.render_chat(messages), messages), "chat", budget, **more)


def raw(tokenizer, text, budget=16, **more):
    """A request without a template."""
    return Request(make_prompt(tokenizer, text), "raw", budget, **more)


def make_trial(tokenizer, needle, context, kind="chat", *, question="", system="", budget=16, **more):
    """A request as the engine makes it of a trial: a context with the needle, and behind it the question."""
    messages = (Message("user", f"Read this.\n{context}\n\n{question or needle.question}"),)
    messages = (Message("system", system), *messages) if system else messages
    is_rendered = kind == "chat" and tokenizer.has_chat_template
    text = tokenizer.render_chat(messages) if is_rendered else raw_text(messages, "Answer:")
    start = text.index(context)
    prompt = replace(make_prompt(tokenizer, text, messages), context=(start, start + len(context)))
    return Request(prompt, kind, budget, needles=(needle,), **more)


def served_model(url, tokenizer, spec="openai:m", *, gate=None, shared=None, options=None, **args):
    """A served model at an address; `options` of its connection, and `--model-arg`s."""
    kind, _, name = spec.partition(":")
    given = {"timeout_s": 20.0, "retries": 0} | ({"api_key_env": "NO_SUCH_KEY"} if kind == "openai" else {})
    connection = ServerOptions(url, **given | (options or {}))
    return ServedModel(transport_of(kind, name, args, connection), tokenizer, connection, gate, shared=shared)


@pytest.fixture(scope="session")
def cache_dir():
    return default_cache_dir()


@pytest.fixture(scope="session")
def smol_tokenizer(cache_dir):
    return resolve_tokenizer("smollm2", {}, None, cache_dir)


def load(spec, tokenizer, cache_dir, **model_args):
    """A local model on one thread."""
    how = {"connection": ServerOptions(), "threads": 1}
    return load_model(spec, model_args=model_args, tokenizer=tokenizer, cache_dir=cache_dir, **how)


@pytest.fixture(scope="session")
def smol(cache_dir, smol_tokenizer):
    model = load("smollm2", smol_tokenizer, cache_dir)
    yield model
    model.close()


@pytest.fixture(scope="session")
def mock_tokenizer(cache_dir):
    return resolve_tokenizer("mock:perfect", {}, None, cache_dir)


@pytest.fixture
def planted():
    with loopback() as server:
        yield server
