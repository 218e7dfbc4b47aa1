"""A real server (llama.cpp) with the real embedded model: what it counts must be what we count."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from haystack_fixtures.models.connection import Connection
from haystack_fixtures.models.model import Model, Request
from haystack_fixtures.models.served import ServedModel
from haystack_fixtures.models.served_args import served_options
from haystack_fixtures.tokenizers.tokenizer import Tokenizer

NEEDLE = "The code of the red house is 48151. The sea was calm.\nWhat is the code of the red house?"
TEXTS = (
    "What is the capital of France?",
    "  Spaces,\ttabs and\n\nlines; 3.14 and 1,000,000! Ünïcödé — “quotes” 😀 红房子的密码是48151。  ",
    "The harbour was quiet. A gull sat on the rail and watched the boats. " * 20 + "\nWho watched the boats?",
)


@pytest.fixture
def served(llama_server: str, smol_tokenizer: Tokenizer) -> ServedModel:
    connection = Connection(llama_server, timeout_s=60)
    return ServedModel("any", served_options({}, connection), smol_tokenizer, connection)


def test_chat(served: ServedModel, smol: Model, smol_tokenizer: Tokenizer, chat: Callable[..., Request]) -> None:
    request = chat(smol_tokenizer, NEEDLE, 24)
    response = served.respond(request)
    assert response.error is None
    # Not the same text: the server computes with the 4-bit weights as they are.
    assert "48151" in response.text
    assert "48151" in smol.respond(request).text
    assert (response.finish_reason, response.attempts) == ("stop", 1)
    assert response.ttft_s is not None
    assert response.latency_s is not None
    assert 0 < response.ttft_s < response.latency_s


@pytest.mark.parametrize("text", TEXTS)
def test_the_server_counts_what_we_count(
    served: ServedModel,
    smol_tokenizer: Tokenizer,
    chat: Callable[..., Request],
    raw: Callable[..., Request],
    text: str,
) -> None:
    for request in (chat(smol_tokenizer, text, 1), raw(smol_tokenizer, text, 1)):
        response = served.respond(request)
        assert response.prompt_tokens == request.prompt.tokens
        assert response.completion_tokens == 1


def test_completion_and_its_cache(served: ServedModel, smol_tokenizer: Tokenizer, raw: Callable[..., Request]) -> None:
    request = raw(smol_tokenizer, "The capital of France is", 4)
    assert "Paris" in served.respond(request).text
    again = served.respond(request)
    assert again.cached_tokens == request.prompt.tokens - 1


def test_too_long_a_prompt_is_refused_once(
    served: ServedModel, smol_tokenizer: Tokenizer, raw: Callable[..., Request]
) -> None:
    response = served.respond(raw(smol_tokenizer, "word " * 2500))
    assert response.error is not None
    assert response.error.kind == "client"
    assert response.attempts == 1
    assert "context too long" in response.error.message


def test_without_streaming(llama_server: str, smol_tokenizer: Tokenizer, chat: Callable[..., Request]) -> None:
    connection = Connection(llama_server, timeout_s=60)
    model = ServedModel("any", served_options({"stream": "false"}, connection), smol_tokenizer, connection)
    request = chat(smol_tokenizer, NEEDLE, 24)
    response = model.respond(request)
    assert "48151" in response.text
    assert response.ttft_s is None
    assert response.prompt_tokens == request.prompt.tokens
