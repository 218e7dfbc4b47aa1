"""`anthropic:`, `google:` and `openai-sdk:`: what is sent by their APIs, and what is made of what comes back."""

import json
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.util import find_spec

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.models.served.connection import ServerOptions
from needlework.models.served.model import check_served
from tests.loopback import HttpAnswer, error, honest, loopback
from tests.models.conftest import make_trial, served_model
from tests.native_servers import Reply, native_server, right

BOTH = pytest.mark.parametrize("kind", ["anthropic", "google"])
NEEDLE = Needle("code", "The door code for Hartsmoor is 4711023.", "What is the door code for Hartsmoor?", "4711023")
CONTEXT = f"A ferry left at noon. {NEEDLE.text} Rain fell."


def asked(tokenizer, **more):
    cell = Cell("niah", 400, 50.0, "code")
    request = make_trial(tokenizer, NEEDLE, CONTEXT, system="Be short.", cell=cell, answer=NEEDLE.answer)
    return replace(request, **more)


@contextmanager
def model(kind, tokenizer, say=right, *, retries=0, window=None, **args):
    with native_server(kind, say) as server:
        server.window = window
        with closing(served_model(server.url, tokenizer, f"{kind}:mm", options={"retries": retries}, **args)) as made:
            yield made, server


def answer(kind, tokenizer, reply, request=None):
    """The response where every trial is answered so; the two short requests are answered rightly."""
    say = lambda question: reply if CONTEXT in question.prompt else right(question)  # noqa: E731
    with model(kind, tokenizer, say) as (made, _):
        return made.respond(request or asked(tokenizer))


@BOTH
def test_an_answer_with_its_counts_and_who_gave_it(kind, mock_tokenizer):
    with model(kind, mock_tokenizer, window=200_000) as (made, server):
        response = made.respond(asked(mock_tokenizer))
        assert made.window == 200_000
        assert "list of models" in str(made.identity["window_source"])
    assert (response.text, response.finish_reason, response.error) == ("The code is 4711023.", "stop", None)
    assert response.calibration.status == "exact"
    assert response.prompt_tokens == asked(mock_tokenizer).prompt.tokens + response.calibration.template_tokens
    assert (response.flags, response.attempts, len(server.asked)) == ((), 1, 3)
    assert server.asked[-1].prompt.startswith("Be short.")


@pytest.mark.parametrize(
    ("kind", "reply", "finish"),
    [
        *((kind, Reply("It is 4711023.", thinking="Let me see."), "stop") for kind in ("anthropic", "google")),
        *((kind, Reply(thinking="Let me see, it is"), "unfinished") for kind in ("anthropic", "google")),
        ("anthropic", Reply("It is", stop="max_tokens"), "length"),
        ("anthropic", Reply("It is", stop="model_context_window_exceeded"), "length"),
        ("anthropic", Reply("I cannot", stop="refusal"), "content_filter"),
        ("google", Reply("It is", stop="MAX_TOKENS"), "length"),
        ("google", Reply("I cannot", stop="SAFETY"), "content_filter"),
        ("google", Reply(blocked="PROHIBITED_CONTENT"), "content_filter"),
    ],
)
def test_how_an_answer_ended(kind, mock_tokenizer, reply, finish):
    response = answer(kind, mock_tokenizer, reply)
    assert (response.finish_reason, response.text, response.reasoning) == (finish, reply.text, reply.thinking)
    assert response.error is None


BUSY = {"error": {"message": "busy", "details": [{"retryDelay": "0.01s"}]}}


@pytest.mark.parametrize(
    ("kind", "faults", "retries"),
    [
        ("anthropic", [Reply(status=status, error=BUSY, headers={"retry-after": "0.01"}) for status in (429, 529)], 0),
        ("google", [Reply(status=429, error=BUSY)] * 2, 0),
        ("anthropic", [Reply(broken={"type": "overloaded_error", "message": "Overloaded"})] * 2, 0),  # streamed
        *((kind, [Reply("The co", cut=True)], 1) for kind in ("anthropic", "google")),
    ],
)
def test_what_fails_in_passing_is_asked_again(kind, faults, retries, mock_tokenizer):
    left = iter(faults)
    say = lambda question: next(left, right(question)) if CONTEXT in question.prompt else right(question)  # noqa: E731
    with model(kind, mock_tokenizer, say, retries=retries) as (made, _):
        response = made.respond(asked(mock_tokenizer))
    assert (response.text, response.attempts, response.error) == ("The code is 4711023.", len(faults) + 1, None)


def test_claude_is_told_what_to_think_and_what_to_keep(mock_tokenizer):
    with model("anthropic", mock_tokenizer, cache="1h", temperature="0.5", extra_body='{"top_k": 1}') as (made, server):
        made.respond(asked(mock_tokenizer, thinking_budget=2048))
    body = server.asked[-1].body
    assert (body["thinking"], body["max_tokens"]) == ({"type": "enabled", "budget_tokens": 2048}, 2064)
    assert (body["temperature"], body["top_k"]) == (0.5, 1)
    kept, rest = body["messages"][0]["content"]
    assert (kept["text"], kept["cache_control"]) == (f"Read this.\n{CONTEXT}", {"type": "ephemeral", "ttl": "1h"})
    assert rest["text"] == f"\n\n{NEEDLE.question}"


def test_gemini_is_told_what_to_think(mock_tokenizer):
    for args, thinking, budget in (({}, 512, 512), ({"thinking": "off"}, 0, 0), ({"thinking": "auto"}, 512, -1)):
        with model("google", mock_tokenizer, seed="7", **args) as (made, server):
            made.respond(asked(mock_tokenizer, thinking_budget=thinking))
        told = server.asked[-1].body["generationConfig"]
        assert told["thinkingConfig"]["thinkingBudget"] == budget
        assert (told["seed"], told["temperature"], told["maxOutputTokens"]) == (7, 0, 16 + thinking)


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        ("anthropic", {"thinking_budget": 100}, "--thinking-budget 100: Anthropic takes 1024 or more"),
        ("anthropic", {"template": "raw"}, "--template raw"),
        ("google", {"template": "raw"}, "--template raw"),
    ],
)
def test_what_a_provider_takes_in_no_form_ends_the_run(mock_tokenizer, kind, more, words):
    with model(kind, mock_tokenizer) as (made, server):
        error = made.respond(asked(mock_tokenizer, **more)).error
    assert (error.fatal, server.asked) == (True, [])
    assert words in error.message


@BOTH
def test_the_key_is_the_environments_and_is_shown_nowhere(kind, mock_tokenizer, monkeypatch):
    key = "planted-native-key-0815"
    monkeypatch.setenv("ANTHROPIC_API_KEY" if kind == "anthropic" else "GEMINI_API_KEY", key)
    say = lambda question: Reply(f"4711023 {key}") if CONTEXT in question.prompt else right(question)  # noqa: E731
    with model(kind, mock_tokenizer, say) as (made, server):
        response = made.respond(asked(mock_tokenizer))
        shown = repr(made.identity)
    sent = server.asked[0].headers
    assert sent["x-api-key" if kind == "anthropic" else "x-goog-api-key"].endswith(key)
    assert response.text == "4711023 ***"
    assert key not in shown


@pytest.mark.parametrize(
    ("kind", "args", "words"),
    [
        ("anthropic", {"seed": "1"}, "unknown for this kind of model"),
        ("anthropic", {"cache": "7m"}, "use one of 5m, 1h, off"),
        ("google", {"cache": "5m"}, "unknown for this kind of model"),
        ("google", {"thinking": "adaptive"}, "use one of budget, auto, off"),
        ("anthropic", {}, "'ANTHROPIC_API_KEY': no key for https://api.anthropic.com"),
        ("google", {}, "'GEMINI_API_KEY': no key for https://generativelanguage"),
    ],
)
def test_wrong_arguments_and_missing_keys_are_one_line(kind, args, words, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        check_served(kind, args, ServerOptions())


@BOTH
def test_the_key_follows_no_redirect(kind, mock_tokenizer, monkeypatch):
    with native_server(kind) as other:
        moved = Reply(status=307, error={}, headers={"Location": f"{other.url}/v1?token=planted-0815"})
        with model(kind, mock_tokenizer, lambda _question: moved) as (made, _):
            error = made.respond(asked(mock_tokenizer)).error
        assert other.asked == []
    assert error.fatal
    assert f"sends us on to {other.url}/v1: give that" in error.message


OPENAI = pytest.mark.skipif(find_spec("openai") is None, reason="needs OpenAI's client")


def streamed(request):
    events = [
        {"id": "a", "choices": [{"index": 0, "delta": {"content": honest(request).text}, "finish_reason": None}]},
        {"id": "a", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"id": "a", "choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 5}},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return HttpAnswer(body, kind="text/event-stream")


def ask(tokenizer, url, **model_args):
    with closing(served_model(url, tokenizer, "openai-sdk:m", **model_args)) as model:
        assert model.identity["spec"] == "openai-sdk:m"
        return model.respond(asked(tokenizer))


@OPENAI
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


@OPENAI
@pytest.mark.parametrize(
    ("fault", "is_too_long", "words"),
    [
        (error(400, "maximum context length is 10 tokens"), True, "maximum context length is 10 tokens"),
        (HttpAnswer("", 307, headers={"Location": "/moved/completions"}), False, "HTTP 307"),
    ],
)
def test_errors_are_classified_as_those_of_any_server_and_no_redirect_is_followed(
    mock_tokenizer, fault, is_too_long, words
):
    with loopback(lambda request: fault if CONTEXT in request.prompt else honest(request)) as server:
        error = ask(mock_tokenizer, server.url, stream="false").error

    assert (error.kind, error.too_long) == ("client", is_too_long)
    assert words in error.message
    assert not [request.path for request in server.requests if "moved" in request.path]
