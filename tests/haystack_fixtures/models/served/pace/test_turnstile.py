"""The gate under threads: never too many, nobody left waiting, closed for all at once."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from needlework.haystack_fixtures.models.model import ModelError
from needlework.haystack_fixtures.models.served.pace.pacing import Sign
from needlework.haystack_fixtures.models.served.pace.turnstile import Turnstile
from tests.at_once import AtOnce
from tests.haystack_fixtures.models.served.slept_time import SleptTime

WHY = ModelError("server", "gone", fatal=True)


@pytest.mark.parametrize("signs", [("answered",), ("busy", "answered"), ("busy", "slow", "gone", "broken")])
def test_never_more_than_the_width_and_nobody_left_behind(signs: tuple[Sign, ...]) -> None:
    gate, chance = Turnstile(8), random.Random(0)
    at_once = AtOnce()

    def pass_through(i: int) -> int:
        passage = gate.enter()
        assert passage is not None
        at_once.work(0.0005)
        gate.leave(passage, chance.choice(signs), retry_after_s=0.002 if i % 50 == 0 else None)
        return i

    with ThreadPoolExecutor(32) as pool:
        assert sorted(pool.map(pass_through, range(600))) == list(range(600))
    assert 1 <= at_once.most <= 8


def test_a_pause_holds_all_back() -> None:
    clock = SleptTime()
    gate = Turnstile(4, now=clock.now, sleep=clock.sleep)
    first = gate.enter()
    assert first is not None
    gate.leave(first, "busy", retry_after_s=30)
    assert gate.enter() is not None
    assert clock.slept == [30]


def test_a_waiting_request_holds_no_place() -> None:
    gate = Turnstile(1)
    first = gate.enter()
    assert first is not None
    gate.leave(first, "broken")
    pause = threading.Thread(target=gate.wait, args=(60,))
    pause.start()
    assert gate.enter() is not None
    gate.close(WHY)
    pause.join(5)
    assert not pause.is_alive(), "closing the gate ends its pauses"


def test_closing_lets_nobody_through_and_keeps_the_first_reason() -> None:
    gate = Turnstile(1)
    assert gate.enter() is not None
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(gate.enter) for _ in range(4)]
        time.sleep(0.05)
        assert gate.close(WHY) is WHY
        assert gate.close(ModelError("server", "later")) is WHY
        assert [each.result(5) for each in waiting] == [None] * 4
    assert gate.closed is WHY
