"""Shared by the tests of models: prompts, the embedded model, a real server, and a server with planted faults."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from planted_http import PlantedServer, planted_server

from haystack_fixtures.cache import default_cache_dir
from haystack_fixtures.models.connection import Connection
from haystack_fixtures.models.load import load_model, resolve_tokenizer
from haystack_fixtures.models.model import Model, Request
from haystack_fixtures.models.smollm2 import installed_gguf
from haystack_fixtures.prompts.prompt import Message, Prompt
from haystack_fixtures.tokenizers.tokenizer import Tokenizer

Ask = Callable[..., Request]


def make_prompt(tokenizer: Tokenizer, text: str, messages: tuple[Message, ...] = ()) -> Prompt:
    return Prompt(
        messages=messages,
        text=text,
        ids=tokenizer.encode(text).ids,
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
        "smollm2", model_args={}, tokenizer=smol_tokenizer, connection=Connection(), cache_dir=cache_dir, threads=1
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


_SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
params.n_ctx, params.n_parallel, params.warmup = 2048, 1, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    """Base URL of a real llama.cpp server with the embedded model's own GGUF file."""
    pytest.importorskip("xllamacpp")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(installed_gguf()), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                    break
            except OSError:
                assert process.poll() is None, "the server ended"
                assert time.monotonic() < until, "the server did not start"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def planted() -> Iterator[PlantedServer]:
    with planted_server() as server:
        yield server
