"""`openai-sdk:`: requests by OpenAI's client, replies and faults as those of any server."""

import json

import pytest

from needlework.models.served.connection import ServerOptions
from needlework.models.served.model import ServedModel, transport_of
from tests.haystack_fixtures.models.served.test_providers import CONTEXT, asked
from tests.loopback import Said, honest, loopback

pytest.importorskip("openai")


def streamed(request):
    events = [
        {"id": "a", "choices": [{"index": 0, "delta": {"content": honest(request).text}, "finish_reason": None}]},
        {"id": "a", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"id": "a", "choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 5}},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return Said(raw=body.encode(), kind="text/event-stream")


def ask(tokenizer, url, **model_args):
    connection = ServerOptions(base_url=url, retries=0)
    model = ServedModel(transport_of("openai-sdk", "m", model_args, connection), tokenizer, connection)
    assert model.identity["spec"] == "openai-sdk:m"
    try:
        return model.respond(asked(tokenizer))
    finally:
        model.close()


@pytest.mark.parametrize("stream", ["true", "false"])
def test_fields_and_headers_of_the_user_are_sent_and_the_reply_is_read(stream, mock_tokenizer, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-7")

    with loopback(streamed if stream == "true" else honest) as server:
        response = ask(mock_tokenizer, server.url, stream=stream, extra_body='{"top_k": 1}')
    trial = next(request for request in server.requests if CONTEXT in request.prompt)

    assert (trial.body["top_k"], trial.body["max_tokens"], trial.body["temperature"]) == (1, 16, 0.0)
    assert trial.headers["openai-organization"] == "org-7"
    assert (response.text, response.finish_reason) == ("The code is 4711023.", "stop")
    assert response.prompt_tokens


@pytest.mark.parametrize(
    ("status", "message", "kind", "too_long"),
    [
        (400, "maximum context length is 10 tokens", "client", True),
        (401, "bad key", "client", False),
        (501, "it is not implemented", "server", False),
    ],
)
def test_errors_are_classified_as_those_of_any_server(status, message, kind, too_long, mock_tokenizer):
    def refuse(request):
        body = b'{"error": {"message": "%s"}}' % message.encode()
        return Said(raw=body, status=status) if CONTEXT in request.prompt else honest(request)

    with loopback(refuse) as server:
        error = ask(mock_tokenizer, server.url, stream="false").error

    assert (error.kind, error.too_long) == (kind, too_long)
    assert message in error.message


def test_a_redirect_is_not_followed_with_the_key(mock_tokenizer, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-ours")
    with loopback(honest) as other:

        def redirect(request):
            headers = {"Location": f"{other.url}/chat/completions"}
            return Said(raw=b"", status=307, headers=headers) if CONTEXT in request.prompt else honest(request)

        with loopback(redirect) as server:
            error = ask(mock_tokenizer, server.url).error

    assert error is not None
    assert other.requests == []


@pytest.mark.slow
def test_nobody_listens(mock_tokenizer):
    error = ask(mock_tokenizer, "http://127.0.0.1:9/v1").error

    assert error.kind == "server"
    assert "no connection" in error.message
