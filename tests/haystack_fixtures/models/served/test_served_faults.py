"""Served models against a real server with planted faults: what is retried, and what each fault is called."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions
from needlework.models.served.errors import AttemptFault, delay_s, retry_after
from needlework.models.served.limiter import ROW, Turnstile
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.served.planted_http import Answer, PlantedServer, error, events, good
from tests.haystack_fixtures.models.served.slept_time import SleptTime

DROPPED = Answer(body=good(), cut=20)
TORN = events({"choices": [{"index": 0, "delta": {"content": "Pa"}}]}, done=False)


@pytest.mark.parametrize(
    "faults",
    [
        [error(500, "boom")],
        [error(503, "Loading model"), error(502, "bad gateway")],
        [error(429, "slow down")],
        [DROPPED],
        [TORN],
        [events({"error": {"message": "overloaded", "code": 503}})],
    ],
)
def test_passing_faults_are_tried_again(
    planted: PlantedServer,
    model: Callable[..., ServedModel],
    question: Request,
    faults: list[Answer],
    slept: list[float],
) -> None:
    planted.plant(*faults, good())
    response = model().respond(question)
    assert (response.text, response.error, response.attempts) == ("Paris", None, len(faults) + 1)
    assert len(slept) == len(faults)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (error(500, "boom"), "server"),
        (DROPPED, "server"),
        (TORN, "server"),
        (Answer(body=good(), wait_s=1.0), "timeout"),
        (error(504, "gateway time-out"), "timeout"),
        (Answer(body="<html>Gateway</html>", kind="text/html"), "protocol"),
        (Answer(body='{"choices": [{"mess'), "protocol"),
        (Answer(body=""), "protocol"),
        (Answer(body="[]"), "protocol"),
        (Answer(body={"choices": []}), "protocol"),
        (events("{broken"), "protocol"),
        (events(done=False), "protocol"),
    ],
)
def test_faults_that_stay_get_their_kind(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request, fault: Answer, kind: str
) -> None:
    planted.plant(fault)
    response = model(timeout_s=0.2 if fault.wait_s else 20, retries=1).respond(question)
    assert response.error is not None
    assert (response.error.kind, response.error.fatal) == (kind, False)
    assert response.attempts == 2
    assert response.finish_reason is None


@pytest.mark.parametrize(
    ("fault", "kind", "fatal", "words"),
    [
        (error(401, "Incorrect API key"), "client", True, "sent: HTTP 401: Incorrect API key; the environ"),
        (error(429, "no credit", code="insufficient_quota"), "client", True, "key"),
        (error(404, "The model m does not exist"), "client", True, "no such model"),
        (error(400, "This model's maximum context length is 4096"), "client", False, "context too long"),
        (error(400, "too big", type="exceed_context_size_error"), "client", False, "context too long"),
        (error(400, "bad parameter"), "client", False, "bad parameter"),
        (error(429, "Request too large for m: Limit 30000, Requested 40000"), "client", False, "too large"),
        (error(429, "come back tomorrow", {"Retry-After": "86400"}), "rate_limit", True, "1440 minutes"),
        (Answer(307, "", {"Location": "https://elsewhere/v1"}), "client", True, "https://elsewhere/v1"),
        (Answer(301, "", {"Location": "http://b:1/v1/chat/completions"}), "client", True, "http://b:1/v1: give that"),
    ],
)
def test_what_no_retry_can_mend(
    planted: PlantedServer,
    model: Callable[..., ServedModel],
    question: Request,
    fault: Answer,
    kind: str,
    fatal: bool,
    words: str,
) -> None:
    planted.plant(fault)
    response = model().respond(question)
    assert response.error is not None
    assert (response.error.kind, response.error.fatal, response.attempts) == (kind, fatal, 1)
    assert words in response.error.message


def test_an_address_without_a_path_is_told_the_usual_one(
    planted: PlantedServer, mock_tokenizer: Tokenizer, question: Request
) -> None:
    connection = ServerOptions(planted.url.removesuffix("/v1"))
    planted.plant(error(404, "Not Found"))
    response = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection).respond(question)
    assert response.error is not None
    assert response.error.message.endswith("HTTP 404: Not Found; most servers are asked below /v1: --base-url .../v1")


@pytest.mark.parametrize(
    "fault",
    [
        error(400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."),
        error(400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
        error(400, "the request exceeds the available context size", type="exceed_context_size_error"),
        error(422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"),
        error(400, "prompt is too long: 205000 tokens > 200000 maximum"),
        error(400, "The input token count (5000) exceeds the maximum number of tokens allowed (4096)."),
        error(400, "The prompt (total length 5000) is too long to fit into the model (maximum model length 4096)"),
        error(500, "input (1201 tokens) is too large to process. increase the physical batch size"),
        error(500, "litellm.ContextWindowExceededError: context window exceeded"),
    ],
)
def test_a_prompt_too_long_is_known_in_many_words(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request, fault: Answer
) -> None:
    planted.plant(fault)
    response = model().respond(question)
    assert response.error is not None
    assert (response.error.too_long, response.attempts) == (True, 1)


def test_another_bad_request_is_not_too_long(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request
) -> None:
    planted.plant(error(400, "max_tokens is too large: 99999. This model supports at most 16384 completion tokens"))
    response = model().respond(question)
    assert response.error is not None
    assert (response.error.too_long, response.attempts) == (False, 1)


def test_a_content_filter_is_no_error(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request
) -> None:
    planted.plant(error(400, "filtered", code="content_filter"))
    assert model().respond(question).finish_reason == "content_filter"
    planted.plant({"choices": [{"finish_reason": "content_filter", "message": {"content": ""}}]})
    response = model().respond(question)
    assert (response.finish_reason, response.error, response.attempts) == ("content_filter", None, 1)


def test_retry_after_is_honoured(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request, slept: list[float]
) -> None:
    planted.plant(error(429, "slow down", {"Retry-After": "7"}), good())
    assert model().respond(question).text == "Paris"
    assert 7 <= slept[0] <= 8


def test_pauses_grow_and_scatter() -> None:
    jitter = random.Random(0)
    fault = AttemptFault("server", "x", retry=True)
    pauses = [[delay_s(fault, failures, jitter) for _ in range(200)] for failures in range(1, 12)]
    assert all(0 <= pause <= min(30, 2**n) for n, several in enumerate(pauses) for pause in several)
    assert all(max(several) > 0.9 * min(30, 2**n) for n, several in enumerate(pauses)), "the whole width is used"
    assert all(min(several) < 0.1 * min(30, 2**n) for n, several in enumerate(pauses))


def test_retry_after_as_seconds_or_date() -> None:
    now = datetime(2026, 11, 22, 12, tzinfo=UTC)
    later = (now + timedelta(seconds=30)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert retry_after({"Retry-After": "2.5"}) == 2.5
    assert retry_after({"retry-after-ms": "250"}) == 0.25
    assert retry_after({"Retry-After": str(now.timestamp() + 40)}, now=now) == 40
    assert retry_after({}, '{"retryDelay": "3.5s"}') == 3.5
    assert retry_after({"RETRY-AFTER": later}, now=now) == 30
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({}) is None


def test_a_connection_refused_is_the_servers_fault(mock_tokenizer: Tokenizer, question: Request) -> None:
    connection = ServerOptions("http://127.0.0.1:9/v1", retries=1)
    time = SleptTime()
    gate = Turnstile(8, now=time.now, sleep=time.sleep)
    model = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection, gate)
    response = model.respond(question)
    assert response.error is not None
    assert response.error.kind == "server"
    assert response.attempts >= ROW, "what is the server's does not count against the retries"


def test_an_error_that_says_that_there_is_none_is_none(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request
) -> None:
    planted.plant(good() | {"error": {"code": 0, "message": "ok"}})
    assert model().respond(question).text == "Paris"
    planted.plant({"error": {"code": 0, "message": "no answer for you"}})
    assert model(retries=0).respond(question).error is not None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            Answer(200, {"error": {"code": 503, "message": "upstream overloaded"}}),
            "HTTP 200 with an error inside: upstream",
        ),
        (Answer(200, {"error": "sorry"}), "HTTP 200 with an error inside: sorry"),
        (Answer(202, ""), "HTTP 202: without a word"),
    ],
)
def test_a_status_is_told_as_it_came(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request, answer: Answer, words: str
) -> None:
    planted.plant(answer)
    error = model(retries=0).respond(question).error
    assert error is not None
    assert words in error.message


@pytest.mark.parametrize("wait", ["inf", "-inf", "nan"])
def test_an_endless_wait_is_no_wait(wait: str) -> None:
    assert retry_after({"Retry-After": wait}) is None
