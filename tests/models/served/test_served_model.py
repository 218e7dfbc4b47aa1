"""One server, many requests: what is sent, storms, what ends the run, what is learnt of planted and real servers."""

import math
import random
import re
import socket
from dataclasses import replace
from functools import partial
from itertools import product

import pytest

from needlework.core.files import folder_of_run
from needlework.core.grid import Cell
from needlework.core.prompts import Message, Needle
from needlework.models.event_loop import event_loop, in_thread
from needlework.models.model import Request
from needlework.models.served.limiter import NEVER_HEARD_S, PATIENCE_S, UNANSWERED_S, Turnstile
from needlework.pipeline.exchange import check_answer
from tests.loopback import HttpAnswer, error, good
from tests.models.conftest import chat, make_trial, raw, served_model

NOT_NOW = error(429, "slow down")
NOBODY = "http://127.0.0.1:9/v1"


class SleptTime:
    """Seconds since it was made, as far as somebody slept them: no pause is waited for."""

    def __init__(self):
        self.slept = []

    def now(self):
        return sum(self.slept)

    def sleep(self, seconds):
        self.slept.append(seconds)

    def gate(self, width):
        gate = Turnstile(width)
        wait_for = gate._wait_for

        async def wait(event, seconds):
            await (in_thread(partial(self.sleep, seconds)) if seconds < math.inf else wait_for(event, seconds))

        gate.now, gate._wait_for = self.now, wait
        return gate


@pytest.fixture
def clock():
    return SleptTime()


@pytest.fixture
def make(planted, mock_tokenizer, clock):
    """A served model that asks the planted server, with a clock that only its pauses move."""

    def made(url="", args=None, **options):
        options = {"timeout_s": 5.0, "retries": 2} | options
        model = served_model(url or planted.url, mock_tokenizer, gate=clock.gate(8), options=options, **(args or {}))
        model._jitter = random.Random(0)
        return model

    return made


@pytest.fixture
def question(mock_tokenizer):
    return chat(mock_tokenizer, "What is the capital of France?", 16)


def fault(response):
    assert response.error is not None
    return response.error


def test_what_is_sent(planted, make, mock_tokenizer):
    planted.plant(good())
    request = Request(raw(mock_tokenizer, "The capital is").prompt, "raw", 10, thinking_budget=5)
    make(args={"extra_body": '{"top_k": 1}', "seed": "4"}).respond(request)
    (request,) = planted.requests
    sent = request.body
    assert request.path == "/v1/completions"
    assert (sent["prompt"], sent["max_tokens"], sent["temperature"]) == ("The capital is", 15, 0)
    assert (sent["seed"], sent["top_k"], sent["stream"]) == (4, 1, True)
    assert "stop" not in sent


def test_a_server_teaches_how_it_is_asked(planted, make, question, clock):
    planted.plant(error(400, "stream_options is not supported"), good())
    model = make()
    assert [model.respond(question).text for _ in range(2)] == ["Paris", "Paris"]
    assert ["stream" in sent.body for sent in planted.requests] == [True, False, False]
    planted.requests.clear()
    planted.plant(error(400, "'max_tokens' is not supported, use 'max_completion_tokens' instead."), good())
    assert make().respond(question).text == "Paris"
    make(args={"max_tokens_field": "max_completion_tokens"}).respond(question)
    assert [sent.body.get("max_completion_tokens") for sent in planted.requests] == [None, 16, 16]
    assert ["max_tokens" in sent.body for sent in planted.requests] == [True, False, False]
    assert clock.slept == []


def test_azure_addresses(planted, make, question):
    planted.plant(good())
    args = {"azure_api_version": "2024-10-21", "azure_deployment": "dep"}
    model = make(planted.url.removesuffix("/v1"), args)
    assert model.respond(question).text == "Paris"
    assert [request.path for request in planted.requests] == [
        "/openai/deployments/dep/chat/completions?api-version=2024-10-21"
    ]
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
    planted.plant(broken)
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
    planted.plant(good(), HttpAnswer("<html>Bad Gateway</html>", 502, "text/html"))
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


def test_one_request_that_is_always_refused_is_an_error_of_its_own(planted, make, question, clock):
    model = make()
    sleep, pauses = clock.sleep, []

    def with_others(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:  # between two refusals another request is answered
            planted.plant(good())
            model.respond(question)
            planted.plant(NOT_NOW)
        sleep(seconds)

    planted.plant(NOT_NOW)
    clock.sleep = with_others
    response = model.respond(question)
    assert len(pauses) > 3
    assert (fault(response).kind, fault(response).fatal) == ("rate_limit", False)


def test_the_allowed_time_grows_with_prompt_and_answer(make, mock_tokenizer):
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
    planted.told["/props"] = slots(4)
    planted.plant(good(), good(), error(500, "Context size has been exceeded."))  # two are for calibration
    model, alone = make(), []
    enter = model._turnstile.enter
    model._turnstile.enter = lambda **how: alone.append(how["alone"]) or enter(**how)
    one = fault(model.respond(replace(question, cell=Cell("niah", 500, 0.0, "x"))))
    assert alone[-3:] == [False, True, True]
    assert (one.kind, one.too_long) == ("server", False)
    assert "4 slots share: ask with --concurrency 1" in one.message
    assert "Context size has been exceeded" in one.message


def test_a_server_that_tells_its_slots_is_not_asked_for_more(planted, make):
    planted.told["/props"] = slots(3)
    model = make(workers=2)
    assert model.window == 4096
    assert [event_loop().wait(model._turnstile.enter()) is not None for _ in range(2)] == [True, True]
    assert model._turnstile.server.slots == 2  # of two workers, each its part


VALUE = re.compile(r"The gate code for the mill is (\d{7})")


@pytest.fixture
def model(planted, smol_tokenizer):
    def make(shared=None, **args):
        return served_model(planted.url, smol_tokenizer, shared=shared, options={"timeout_s": 5.0}, **args)

    return make


def trial(tokenizer, kind="chat", value="4829173", sentences=40, system="", budget=16):
    needle = Needle("code", f"The gate code for the mill is {value}.", "What is the gate code for the mill?", value)
    context = "The sea was calm. " * sentences + needle.text + " A gull sat there." * sentences
    cell = Cell("niah", 1000, 50.0, "code")
    return make_trial(tokenizer, needle, context, kind, system=system, budget=budget, cell=cell)


def honest(tokenizer, *, more=0, window=10**6):
    """A server that reads the code, counts `more` tokens beside the prompt's own, and sees `window` tokens at most."""

    def answer(request):
        messages = [Message(row["role"], row["content"]) for row in request["messages"]]
        tokens = len(tokenizer.encode(tokenizer.render_chat(messages)).ids) + more
        found = VALUE.search(messages[-1].content)
        return good(f"The code is {found[1] if found else 'unknown'}.", min(tokens, window))

    return answer


def checked(model, request):
    response = model.respond(request)
    assert response.error is None, response.error
    check = check_answer(request.prompt.tokens, [each.answer for each in request.needles], response)
    return response.text, check.invalid, check.flags


def test_another_layout_is_learnt_anew_and_of_questions_that_are_no_trials_nothing(planted, model, smol_tokenizer):
    planted.plant(honest(smol_tokenizer))
    one = model()
    assert one.respond(replace(trial(smol_tokenizer), cell=None)).calibration is None
    assert len(planted.requests) == 1
    one.respond(trial(smol_tokenizer))
    one.respond(trial(smol_tokenizer, system="Be brief."))
    assert len(planted.requests) == 1 + 6
    assert {name for name in one.identity if name.startswith("calibration")} == {
        "calibration chat user",
        "calibration chat system user",
    }


def test_a_calibration_that_fails_is_made_again_once_the_server_answers(planted, model, smol_tokenizer):
    one = model()
    right = honest(smol_tokenizer, more=5)
    planted.plant(error(400, "too short a prompt"), right)
    assert checked(one, trial(smol_tokenizer))[1] == ("uncalibrated",)  # nothing vouches for the difference
    assert checked(one, trial(smol_tokenizer))[1:] == ((), ("template_difference",))


def test_workers_of_a_run_learn_once_and_agree(planted, model, smol_tokenizer, tmp_path):
    planted.plant(honest(smol_tokenizer, more=4))
    planted.told["/v1/models"] = {"data": [{"id": "m", "max_model_len": 4096}]}
    workers = [model(folder_of_run(tmp_path, "one-run")) for _ in range(3)]
    for worker in workers:
        assert worker.window == 4096
        assert checked(worker, trial(smol_tokenizer))[1:] == ((), ("template_difference",))
    assert len(planted.requests) == 3 + 2
    once = list(planted.looked_up)
    assert once.count("/v1/models") == 2  # for the window, and for who it is
    assert len(set(once[1:])) == len(once) - 1
    assert model(folder_of_run(tmp_path, "another-run")).window == 4096
    assert planted.looked_up == [*once, "/v1/models"]


def test_the_window_and_where_it_comes_from(planted, model, tmp_path):
    given = model(window="2048")
    assert (given.window, given.identity["window_source"], planted.looked_up) == (2048, "--model-arg window", [])
    shared = folder_of_run(tmp_path, "one-run")
    assert model(shared).window is None  # what failed is not shared
    planted.told["/props"] = {"default_generation_settings": {"n_ctx": 1024}, "total_slots": 4}
    one = model(shared)
    assert "window_source" not in one.identity  # nothing is asked before it is needed
    assert one.window == 1024
    assert one.identity["window_source"] == "/props default_generation_settings.n_ctx"
    assert model().identity["spec"] == "openai:m"


def test_a_server_that_is_still_loading_is_asked_again_once_it_answers(planted, model, smol_tokenizer):
    planted.plant(honest(smol_tokenizer))
    planted.told["/v1/models"] = error(503, "Loading model")
    one = model()
    assert (one.window, one.window, len(planted.looked_up)) == (None, None, 1)
    planted.told["/v1/models"] = {"data": [{"id": "m", "max_model_len": 4096}]}
    one.respond(trial(smol_tokenizer))
    assert one.window == 4096


TEXTS = (
    "What is the capital of France?",
    "  Spaces,\ttabs and\n\nlines; 3.14 and 1,000,000! Ünïcödé — “quotes” 😀 红房子的密码是48151。  ",
    "The harbour was quiet. A gull sat on the rail and watched the boats. " * 8 + "\nWho watched the boats?",
)
OF_LLAMA_CPP = {"timeout_s": 60}


@pytest.fixture
def llama_cpp(llama_server, smol_tokenizer):
    return served_model(llama_server, smol_tokenizer, "openai:any", options=OF_LLAMA_CPP)


def test_a_real_server_counts_what_we_count_streamed_and_whole(llama_server, llama_cpp, smol_tokenizer):
    whole = served_model(llama_server, smol_tokenizer, "openai:any", options=OF_LLAMA_CPP, stream="false")
    for model, text, make in product((llama_cpp, whole), TEXTS, (chat, raw)):
        request = make(smol_tokenizer, text, 1)
        response = model.respond(request)
        assert (response.prompt_tokens, response.completion_tokens) == (request.prompt.tokens, 1)


def test_a_real_server_tells_its_cache_its_window_and_what_is_too_long(llama_cpp, smol_tokenizer):
    request = raw(smol_tokenizer, "The capital of France is", 4)
    response = llama_cpp.respond(request)
    assert "Paris" in response.text
    assert 0 < response.ttft_s < response.latency_s
    assert llama_cpp.respond(request).cached_tokens == request.prompt.tokens - 1
    assert llama_cpp.window == 2048
    assert llama_cpp.identity["window_source"] == "/props default_generation_settings.n_ctx"
    response = llama_cpp.respond(raw(smol_tokenizer, "word " * 2500))
    assert (response.error.kind, response.attempts) == ("client", 1)
    assert "context too long" in response.error.message


@pytest.mark.parametrize("kind", ["chat", "raw"])
def test_short_requests_show_that_a_real_server_counts_as_we_do(llama_cpp, smol_tokenizer, kind):
    for sentences in (5, 25):
        request = trial(smol_tokenizer, kind, sentences=sentences, system="Be brief.", budget=24)
        response = llama_cpp.respond(request)
        assert (response.calibration.status, response.calibration.template_tokens) == ("exact", 0)
        check = check_answer(request.prompt.tokens, ["4829173"], response)
        assert (check.invalid, check.flags) == ((), ("other_model",))  # "any" was asked for
