"""A server that says "too long" of a prompt that fits: it is too busy, and the prompt is asked alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from needlework.core.grid import Cell
from needlework.models.event_loop import event_loop
from needlework.models.model import ModelError, Request
from needlework.models.served.connection import ServerOptions
from needlework.models.served.limiter import RequestLimiter, Turnstile
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.served.planted_http import Answer, PlantedServer, good
from tests.haystack_fixtures.models.served.slept_time import SleptTime

FULL = Answer(500, {"error": {"message": "Context size has been exceeded.", "type": "server_error"}})


@pytest.fixture
def ask(planted: PlantedServer, chat: Callable[..., Request], mock_tokenizer: Tokenizer) -> Callable[..., object]:
    time = SleptTime()

    def respond(*answers: Answer | dict[str, object], slots: int = 4, length: int = 500) -> object:
        planted.told["/props?model=m&autoload=false"] = {
            "default_generation_settings": {"n_ctx": 4096},
            "total_slots": slots,
        }
        connection = ServerOptions(planted.url, "NO_SUCH_KEY", retries=2)
        gate = Turnstile(8, now=time.now, sleep=time.sleep)
        model = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection, gate)
        planted.plant(good(), good(), *answers)  # two are for calibration
        request = replace(chat(mock_tokenizer, "What is the capital?", 16), cell=Cell("niah", length, 0.0, "x"))
        return model.respond(request)

    return respond


def test_one_that_has_no_room_alone_either_is_an_error_that_names_the_slots(ask: Callable[..., object]) -> None:
    error = ask(FULL).error
    assert isinstance(error, ModelError)
    assert (error.kind, error.too_long) == ("server", False)
    assert "4 slots share: ask with --concurrency 1" in error.message
    assert "Context size has been exceeded" in error.message


def test_a_crowded_server_is_never_asked_for_so_much_again() -> None:
    pace = RequestLimiter(8)
    begun = [pace.begin() for _ in range(8)]
    for each in begun:
        pace.end(each, "crowded", 0.0)
    assert pace.slots == 4  # one burst is one cut
    for _ in range(200):
        pace.end(pace.begin(), "answered", 0.0)
    assert pace.slots == 4


def test_who_is_asked_alone_waits_for_all_and_all_wait_for_it() -> None:
    gate, order = Turnstile(8), []

    async def pass_through(name: str, alone: bool) -> None:
        passage = await gate.enter(alone=alone)
        order.append(name)
        assert passage is not None
        gate.leave(passage, "answered")

    async def all_of_them() -> None:
        first = await gate.enter()
        assert first is not None
        others = [asyncio.create_task(pass_through("alone", True))]
        await asyncio.sleep(0)
        others.append(asyncio.create_task(pass_through("other", False)))
        await asyncio.sleep(0.01)
        assert order == []
        gate.leave(first, "answered")
        await asyncio.wait_for(asyncio.gather(*others), 5)

    event_loop().wait(all_of_them())
    assert order == ["alone", "other"]


def test_a_server_that_tells_its_slots_is_not_asked_for_more(planted: PlantedServer, mock_tokenizer: Tokenizer) -> None:
    planted.told["/props?model=m&autoload=false"] = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 3}
    connection, gate = ServerOptions(planted.url, "NO_SUCH_KEY", workers=2), Turnstile(8)
    model = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection, gate)
    assert model.window == 4096
    assert [event_loop().wait(gate.enter()) is not None for _ in range(2)] == [True, True]
    assert gate._pace.slots == 2  # of two workers, each its part
