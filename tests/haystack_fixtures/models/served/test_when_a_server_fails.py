"""One server, many requests: storms are waited out, a dead server ends the run, a rejected key ends it at once."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from needlework.models.model import Request, Response
from needlework.models.served.connection import ServerOptions
from needlework.models.served.limiter import NEVER_HEARD_S, PATIENCE_S, UNANSWERED_S, Turnstile
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.served.planted_http import Answer, PlantedServer, good
from tests.haystack_fixtures.models.served.slept_time import SleptTime

Ask = Callable[..., Request]
BAD_GATEWAY = Answer(502, "<html>Bad Gateway</html>", kind="text/html")
NOT_NOW = Answer(429, {"error": {"message": "slow down"}})
NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture
def clock() -> SleptTime:
    return SleptTime()


@pytest.fixture
def make(mock_tokenizer: Tokenizer, clock: SleptTime) -> Callable[..., ServedModel]:
    def made(
        url: str,
        *,
        retries: int = 2,
        timeout_s: float = 5.0,
        width: int = 8,
        tell: Callable[[str], object] | None = None,
    ) -> ServedModel:
        connection = ServerOptions(url, "NO_SUCH_KEY", timeout_s, retries, tell=tell)
        gate = Turnstile(width, now=clock.now, sleep=clock.sleep)
        model = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection, gate)
        model._jitter = random.Random(0)
        return model

    return made


@pytest.fixture
def question(chat: Ask, mock_tokenizer: Tokenizer) -> Request:
    return chat(mock_tokenizer, "What is the capital of France?", 16)


def ask_until_fatal(model: ServedModel, question: Request, at_most: int = 50) -> list[Response]:
    found = []
    while len(found) < at_most:
        found.append(model.respond(question))
        if found[-1].error is not None and found[-1].error.fatal:
            break
    return found


def test_a_server_that_hangs_from_the_start_is_told(
    planted: PlantedServer, make: Callable[..., ServedModel], question: Request, clock: SleptTime
) -> None:
    said: list[str] = []

    def late(_body: dict[str, Any]) -> dict[str, Any]:
        clock.sleep(120)  # by the gate's clock
        time.sleep(0.5)
        return good()

    planted.plant(Answer(body=late))
    make(planted.url, timeout_s=0.1, tell=said.append, retries=3).respond(question)
    (line,) = said
    assert line.startswith(f"{planted.url} has not answered yet (")


def test_a_wrong_address_is_told_soon(make: Callable[..., ServedModel], question: Request, clock: SleptTime) -> None:
    (last,) = ask_until_fatal(make(NOBODY, retries=4), question)
    assert last.error is not None
    assert last.error.fatal
    assert last.error.message.startswith(f"{NOBODY} never answered")
    assert "--base-url" in last.error.message
    assert clock.now() < NEVER_HEARD_S + 2, "pauses do not grow beyond it"


def test_a_server_that_has_gone_ends_the_run_and_leaves_the_rest_unasked(
    planted: PlantedServer, make: Callable[..., ServedModel], question: Request, clock: SleptTime
) -> None:
    planted.plant(good(), BAD_GATEWAY)
    model = make(planted.url)
    assert model.respond(question).text == "Paris"
    *errors, last = ask_until_fatal(model, question)
    assert last.error is not None
    assert last.error.fatal
    assert "the server is gone" in last.error.message
    assert "run again" in last.error.message
    assert len(errors) == 3, "those before the row was long enough"
    assert PATIENCE_S <= clock.now() <= 3 * PATIENCE_S
    asked = len(planted.requests)
    after = model.respond(question)
    assert (after.error, after.attempts) == (last.error, 0)
    assert len(planted.requests) == asked


def test_a_server_that_refuses_all_for_ever_ends_the_run(
    planted: PlantedServer, make: Callable[..., ServedModel], question: Request, clock: SleptTime
) -> None:
    planted.plant(NOT_NOW)
    (only,) = ask_until_fatal(make(planted.url), question)
    assert only.error is not None
    assert (only.error.kind, only.error.fatal) == ("rate_limit", True)
    assert 0.7 * UNANSWERED_S <= clock.now() <= UNANSWERED_S


def test_one_request_that_is_always_refused_is_an_error_of_its_own(
    planted: PlantedServer, make: Callable[..., ServedModel], question: Request
) -> None:
    model = make(planted.url)
    answered = threading.Event()

    def others() -> None:
        # Between two refusals another request is answered.
        planted.plant(good())
        model.respond(question)
        planted.plant(NOT_NOW)
        answered.set()

    planted.plant(NOT_NOW)
    sleep, pauses = model._gate._sleep, []

    def with_others(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            others()
        sleep(seconds)

    model._gate._sleep = with_others
    response = model.respond(question)
    assert answered.is_set()
    assert response.error is not None
    assert (response.error.kind, response.error.fatal) == ("rate_limit", False)


def test_a_rejected_key_stops_all_threads(
    planted: PlantedServer, make: Callable[..., ServedModel], question: Request
) -> None:
    planted.plant(Answer(401, {"error": {"message": "Incorrect API key"}}))
    model = make(planted.url, width=8)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: model.respond(question), range(200)))
    assert len(planted.requests) <= 8, "those in flight when the first answer came"
    assert len({each.error for each in found}) == 1
    assert all(each.error is not None and each.error.fatal for each in found)


def test_closing_ends_requests_in_flight_and_pauses(
    planted: PlantedServer, make: Callable[..., ServedModel], question: Request
) -> None:
    planted.plant(Answer(body=good(), wait_s=20))
    model = make(planted.url, timeout_s=60)
    with ThreadPoolExecutor(4) as pool:
        pending = [pool.submit(model.respond, question) for _ in range(4)]
        while len(planted.requests) < 4:
            time.sleep(0.01)
        begun = time.perf_counter()
        model.close()
        errors = [each.result(5).error for each in pending]
    assert time.perf_counter() - begun < 5
    assert all(errors)


def test_the_allowed_time_grows_with_prompt_and_answer(mock_tokenizer: Tokenizer, chat: Ask) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    connection = ServerOptions(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", timeout_s=0.1, retries=0)
    model = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection)
    request = chat(mock_tokenizer, "word " * 300, 16)
    response = model.respond(request)
    assert response.error is not None
    assert response.error.kind == "timeout"
    assert response.latency_s is not None
    assert response.latency_s >= 0.1 + request.prompt.tokens / 1000
    listening.close()
