"""A real server (llama.cpp) with the real embedded model: what it counts must be what we count."""

from dataclasses import replace

import pytest

from needlework.core.grid import Cell
from needlework.core.prompts import Message, Needle
from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions
from needlework.models.served.model import ServedModel, transport_of
from needlework.pipeline.exchange import check_answer
from tests.haystack_fixtures.models.conftest import make_prompt

NEEDLE = "The code of the red house is 48151. The sea was calm.\nWhat is the code of the red house?"
TEXTS = (
    "What is the capital of France?",
    "  Spaces,\ttabs and\n\nlines; 3.14 and 1,000,000! Ünïcödé — “quotes” 😀 红房子的密码是48151。  ",
    "The harbour was quiet. A gull sat on the rail and watched the boats. " * 8 + "\nWho watched the boats?",
)


@pytest.fixture
def served(llama_server, smol_tokenizer):
    connection = ServerOptions(llama_server, timeout_s=60)
    return ServedModel(transport_of("openai", "any", {}, connection), smol_tokenizer, connection)


def test_chat(served, smol, smol_tokenizer, chat):
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
def test_the_server_counts_what_we_count(served, smol_tokenizer, chat, raw, text):
    for request in (chat(smol_tokenizer, text, 1), raw(smol_tokenizer, text, 1)):
        response = served.respond(request)
        assert response.prompt_tokens == request.prompt.tokens
        assert response.completion_tokens == 1


def test_completion_and_its_cache(served, smol_tokenizer, raw):
    request = raw(smol_tokenizer, "The capital of France is", 4)
    assert "Paris" in served.respond(request).text
    again = served.respond(request)
    assert again.cached_tokens == request.prompt.tokens - 1


def test_too_long_a_prompt_is_refused_once(served, smol_tokenizer, raw):
    response = served.respond(raw(smol_tokenizer, "word " * 2500))
    assert response.error.kind == "client"
    assert response.attempts == 1
    assert "context too long" in response.error.message


def test_the_window_is_found(served):
    assert served.window == 2048
    assert served.identity["window_source"] == "/props default_generation_settings.n_ctx"


def trial(tokenizer, template, sentences):
    needle = Needle("code", "The code of the red house is 48151.", "What is the code of the red house?", "48151")
    context = "The sea was calm. " * sentences + needle.text + " A gull sat on the rail." * sentences
    messages = (Message("system", "Be brief."), Message("user", f"Read this.\n{context}\n{needle.question}"))
    text = tokenizer.render_chat(messages) if template == "chat" else "\n\n".join(each.content for each in messages)
    prompt = replace(
        make_prompt(tokenizer, text, messages), context=(text.index(context), text.index(context) + len(context))
    )
    kind = "chat" if template == "chat" else "raw"
    return Request(prompt, kind, 24, needles=(needle,), cell=Cell("niah", 1000, 50.0, "code"))


@pytest.mark.parametrize("template", ["chat", "raw"])
def test_short_requests_show_that_it_counts_as_we_do(served, smol_tokenizer, template):
    for sentences in (5, 25):
        request = trial(smol_tokenizer, template, sentences)
        response = served.respond(request)
        assert (response.calibration.status, response.calibration.template_tokens) == ("exact", 0)
        check = check_answer(request.prompt.tokens, ["48151"], response)
        assert (check.invalid, check.flags) == ((), ("other_model",))  # "any" was asked for


def test_another_tokenizer_is_noticed(llama_server, mock_tokenizer):
    connection = ServerOptions(llama_server, timeout_s=60)
    model = ServedModel(transport_of("openai", "any", {}, connection), mock_tokenizer, connection)
    request = trial(mock_tokenizer, "chat", 20)
    check = check_answer(request.prompt.tokens, ["48151"], model.respond(request))
    assert check.invalid == ("token_mismatch",)
    assert "--tokenizer" in check.why


def test_without_streaming(llama_server, smol_tokenizer, chat):
    connection = ServerOptions(llama_server, timeout_s=60)
    model = ServedModel(transport_of("openai", "any", {"stream": "false"}, connection), smol_tokenizer, connection)
    request = chat(smol_tokenizer, NEEDLE, 24)
    response = model.respond(request)
    assert "48151" in response.text
    assert response.ttft_s is None
    assert response.prompt_tokens == request.prompt.tokens
