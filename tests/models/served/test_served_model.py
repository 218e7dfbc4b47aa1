"""One server, many requests: what is sent, storms that are waited out, and what ends the run."""

import random
import socket
from dataclasses import replace

import pytest

from needlework.core.grid import Cell
from needlework.models.event_loop import event_loop
from needlework.models.model import Request
from needlework.models.served.limiter import NEVER_HEARD_S, PATIENCE_S, UNANSWERED_S, Turnstile
from tests.models.conftest import served_model
from tests.models.served.planted_http import Answer, SleptTime, error, good

BAD_GATEWAY = Answer(502, "<html>Bad Gateway</html>", kind="text/html")
NOT_NOW = Answer(429, {"error": {"message": "slow down"}})
NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture
def clock():
    return SleptTime()


@pytest.fixture
def make(planted, mock_tokenizer, clock):
    """A served model that asks the planted server, with a clock that only its pauses move."""

    def made(url="", args=None, **options):
        gate = Turnstile(8, now=clock.now, sleep=clock.sleep)
        options = {"timeout_s": 5.0, "retries": 2} | options
        model = served_model(url or planted.url, mock_tokenizer, gate=gate, options=options, **(args or {}))
        model._jitter = random.Random(0)
        return model

    return made


@pytest.fixture
def question(chat, mock_tokenizer):
    return chat(mock_tokenizer, "What is the capital of France?", 16)


def fault(response):
    assert response.error is not None
    return response.error


def test_what_is_sent(planted, make, raw, mock_tokenizer):
    planted.plant(good())
    request = Request(raw(mock_tokenizer, "The capital is").prompt, "raw", 10, thinking_budget=5)
    make(args={"extra_body": '{"top_k": 1}', "seed": "4"}).respond(request)
    assert planted.paths == ["/v1/completions"]
    sent = planted.requests[0]
    assert (sent["prompt"], sent["max_tokens"], sent["temperature"]) == ("The capital is", 15, 0)
    assert (sent["seed"], sent["top_k"], sent["stream"]) == (4, 1, True)
    assert "stop" not in sent


def test_a_server_teaches_how_it_is_asked(planted, make, question, clock):
    planted.plant(error(400, "stream_options is not supported"), good())
    model = make()
    assert [model.respond(question).text for _ in range(2)] == ["Paris", "Paris"]
    assert ["stream" in sent for sent in planted.requests] == [True, False, False]
    planted.requests.clear()
    planted.plant(error(400, "'max_tokens' is not supported, use 'max_completion_tokens' instead."), good())
    assert make().respond(question).text == "Paris"
    make(args={"max_tokens_field": "max_completion_tokens"}).respond(question)
    assert [sent.get("max_completion_tokens") for sent in planted.requests] == [None, 16, 16]
    assert ["max_tokens" in sent for sent in planted.requests] == [True, False, False]
    assert clock.slept == []


def test_azure_addresses(planted, make, question):
    planted.plant(good())
    args = {"azure_api_version": "2024-10-21", "azure_deployment": "dep"}
    model = make(planted.url.removesuffix("/v1"), args)
    assert model.respond(question).text == "Paris"
    assert planted.paths == ["/openai/deployments/dep/chat/completions?api-version=2024-10-21"]
    assert model.identity["azure_deployment"] == "dep"


def ask_until_fatal(model, question, at_most=50):
    responses = []
    while len(responses) < at_most and not (responses and fault(responses[-1]).fatal):
        responses.append(model.respond(question))
    return responses


def test_a_server_that_never_ends_an_answer_is_told_and_ends_the_run(planted, make, question, clock):
    def broken(_body):
        clock.sleep(30)
        return {"error": {"message": "no card", "code": 500}}

    lines = []
    planted.plant(Answer(body=broken))
    *errors, last = ask_until_fatal(make(tell=lines.append), question)
    assert len(errors) == 3, "ten attempts, of three each"
    assert fault(last).message.startswith(f"{planted.url} gave no whole answer to any request (HTTP 200 with an error")
    assert [line.partition(" (")[0] for line in lines] == [f"{planted.url} has given no whole answer yet"]


def test_a_wrong_address_is_told_soon(make, question, clock):
    (last,) = ask_until_fatal(make(NOBODY, retries=4), question)
    assert fault(last).fatal
    assert fault(last).message.startswith(f"{NOBODY} never answered (no connection: ConnectionRefusedError")
    assert "--base-url" in fault(last).message
    assert clock.now() < NEVER_HEARD_S + 2, "pauses do not grow beyond it"


def test_a_server_that_has_gone_ends_the_run_and_leaves_the_rest_unasked(planted, make, question, clock):
    planted.plant(good(), BAD_GATEWAY)
    model = make()
    assert model.respond(question).text == "Paris"
    *errors, last = ask_until_fatal(model, question)
    assert fault(last).fatal
    assert "the server is gone" in fault(last).message
    assert "run again" in fault(last).message
    assert len(errors) == 3, "those before the row was long enough"
    assert PATIENCE_S <= clock.now() <= 3 * PATIENCE_S
    asked = len(planted.requests)
    after = model.respond(question)
    assert (after.error, after.attempts, len(planted.requests)) == (last.error, 0, asked)


def test_a_server_that_refuses_all_for_ever_ends_the_run(planted, make, question, clock):
    planted.plant(NOT_NOW)
    (only,) = ask_until_fatal(make(), question)
    assert (fault(only).kind, fault(only).fatal) == ("rate_limit", True)
    assert 0.7 * UNANSWERED_S <= clock.now() <= UNANSWERED_S


def test_one_request_that_is_always_refused_is_an_error_of_its_own(planted, make, question):
    model = make()
    sleep, pauses = model._turnstile._sleep, []

    def with_others(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:  # between two refusals another request is answered
            planted.plant(good())
            model.respond(question)
            planted.plant(NOT_NOW)
        sleep(seconds)

    planted.plant(NOT_NOW)
    model._turnstile._sleep = with_others
    response = model.respond(question)
    assert len(pauses) > 3
    assert (fault(response).kind, fault(response).fatal) == ("rate_limit", False)


def test_the_allowed_time_grows_with_prompt_and_answer(make, mock_tokenizer, chat):
    listening = socket.create_server(("127.0.0.1", 0))
    model = make(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", timeout_s=0.1, retries=0)
    request = chat(mock_tokenizer, "word " * 300, 16)
    response = model.respond(request)
    assert fault(response).kind == "timeout"
    assert response.latency_s >= 0.1 + request.prompt.tokens / 1000
    listening.close()


def slots(number):
    """What a llama.cpp with so many slots says of itself."""
    return {"default_generation_settings": {"n_ctx": 4096}, "total_slots": number}


def test_a_prompt_that_has_no_room_alone_either_is_an_error_that_names_the_slots(planted, make, question):
    planted.told["/props?model=m&autoload=false"] = slots(4)
    planted.plant(good(), good(), error(500, "Context size has been exceeded."))  # two are for calibration
    one = fault(make().respond(replace(question, cell=Cell("niah", 500, 0.0, "x"))))
    assert (one.kind, one.too_long) == ("server", False)
    assert "4 slots share: ask with --concurrency 1" in one.message
    assert "Context size has been exceeded" in one.message


def test_a_server_that_tells_its_slots_is_not_asked_for_more(planted, make):
    planted.told["/props?model=m&autoload=false"] = slots(3)
    model = make(workers=2)
    assert model.window == 4096
    assert [event_loop().wait(model._turnstile.enter()) is not None for _ in range(2)] == [True, True]
    assert model._turnstile.server.slots == 2  # of two workers, each its part
