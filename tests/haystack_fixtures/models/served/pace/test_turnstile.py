"""The gate under many requests: never too many, nobody left waiting, closed for all at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from needlework.models.event_loop import event_loop
from needlework.models.model import ModelError
from needlework.models.served.limiter import Sign, Turnstile
from tests.haystack_fixtures.models.served.slept_time import SleptTime

WHY = ModelError("server", "gone", fatal=True)


def read(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The test, run in the reader."""

    @wraps(test)
    def run(**given: object) -> None:
        event_loop().wait(asyncio.wait_for(test(**given), 20))

    return run


@pytest.mark.parametrize("signs", [("answered",), ("busy", "answered"), ("busy", "slow", "gone", "broken")])
@read
async def test_never_more_than_the_width_and_nobody_left_behind(signs: tuple[Sign, ...]) -> None:
    gate, chance = Turnstile(8), random.Random(0)
    at_once = most = 0

    async def pass_through(i: int) -> int:
        nonlocal at_once, most
        passage = await gate.enter()
        assert passage is not None
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.0005)
        at_once -= 1
        gate.leave(passage, chance.choice(signs), retry_after_s=0.002 if i % 50 == 0 else None)
        return i

    assert await asyncio.gather(*map(pass_through, range(600))) == list(range(600))
    assert 1 <= most <= 8


@read
async def test_a_pause_holds_all_back() -> None:
    clock = SleptTime()
    gate = Turnstile(4, now=clock.now, sleep=clock.sleep)
    first = await gate.enter()
    assert first is not None
    gate.leave(first, "busy", retry_after_s=30)
    assert await gate.enter() is not None
    assert clock.slept == [30]


@read
async def test_a_waiting_request_holds_no_place() -> None:
    gate = Turnstile(1)
    first = await gate.enter()
    assert first is not None
    gate.leave(first, "broken")
    pause = asyncio.create_task(gate.wait(60))
    assert await gate.enter() is not None
    gate.close(WHY)
    await asyncio.wait_for(pause, 5)  # closing the gate ends its pauses


@read
async def test_who_pauses_goes_on_when_the_server_is_back() -> None:
    gate = Turnstile(4)
    pauses = asyncio.gather(*(gate.wait(1000) for _ in range(3)))
    await asyncio.sleep(0)
    gate.end_pauses()
    await pauses


@read
async def test_closing_lets_nobody_through_and_keeps_the_first_reason() -> None:
    gate = Turnstile(1)
    assert await gate.enter() is not None
    waiting = [asyncio.create_task(gate.enter()) for _ in range(4)]
    await asyncio.sleep(0.05)
    assert gate.close(WHY) is WHY
    assert gate.close(ModelError("server", "later")) is WHY
    assert await asyncio.wait_for(asyncio.gather(*waiting), 5) == [None] * 4
    assert gate.closed is WHY
