"""Requests overlap, in order, within bounds."""

import asyncio
import threading
import time
from functools import partial

import pytest

from needlework.models.event_loop import in_thread
from needlework.pipeline.queue import LookAhead
from tests.at_once import AtOnce


def look_ahead(work, keys, width, **bounds):
    """`work(key)` blocks: it runs in a thread of its own."""
    ahead = LookAhead(lambda key: partial(in_thread, partial(work, key)), width, **bounds)
    ahead.extend(keys)
    return ahead


@pytest.mark.parametrize("order", [(*range(100),), (70, *range(70), *range(71, 100)), (3, 1, 2, 99)])
def test_each_question_is_asked_once_whatever_the_order_in_which_answers_are_taken(order):
    asked = []
    ahead = look_ahead(lambda n: asked.append(n) or n * n, range(99), width=3)

    assert [ahead.take(n) for n in order] == [n * n for n in order], "99 was not announced"
    assert len(asked) == len(set(asked))
    assert set(asked) >= set(order)


def test_many_run_at_once_and_never_more_than_allowed():
    at_once = AtOnce()
    ahead = look_ahead(lambda n: at_once.work(0.01), range(40), width=8)
    for n in range(40):
        ahead.take(n)

    assert 4 <= at_once.most <= 8


@pytest.mark.parametrize(("room", "others"), [(0, 7), (30, 30), (1000, 39)])
def test_one_that_hangs_stops_the_others_when_their_answers_fill_the_room(room, others):
    """Four times the width may wait in any case, what hangs among them; it takes no room until it comes."""
    asked = []

    async def hangs():
        until = time.monotonic() + 5
        while len(asked) < others and time.monotonic() < until:
            await asyncio.sleep(0.001)
        for _ in range(100):  # more would be asked meanwhile, if they could
            await asyncio.sleep(0)
        return len(asked)

    async def answers(n):
        asked.append(n)

    ahead = LookAhead(lambda n: partial(answers, n) if n else hangs, width=2, size=lambda _answer: 1, room=room)
    ahead.extend(range(40))

    assert ahead.take(0) == others
    for n in range(1, 8):
        ahead.take(n)
    assert len(asked) <= max(others, 7) + 8, "what was taken makes room, and no more"


@pytest.mark.parametrize("fails_at", ["start", "send"])
def test_an_error_is_raised_where_the_answer_is_taken(fails_at):
    async def send(n):
        return 1 // n

    ahead = LookAhead(lambda n: 1 // n and partial(send, n) if fails_at == "start" else partial(send, n), width=1)
    ahead.extend([1, 0, -1])
    assert ahead.take(1) == 1
    with pytest.raises(ZeroDivisionError):
        ahead.take(0)
    assert ahead.take(-1) == -1


def test_closing_drops_what_was_not_sent():
    sent, go_on = [], threading.Event()
    ahead = look_ahead(lambda n: (sent.append(n), go_on.wait(5)), range(8), width=2)
    ahead.fill()
    while len(sent) < 2:
        time.sleep(0.005)
    ahead.close()
    go_on.set()
    time.sleep(0.05)

    assert sorted(sent) == [0, 1]


def test_requests_are_made_ready_in_order_and_a_few_ahead_on_the_thread_that_takes_answers():
    ready, go_on = [], threading.Event()

    def start(n):
        ready.append((n, threading.get_ident()))
        return partial(in_thread, lambda: go_on.wait(5) and n)

    ahead = LookAhead(start, width=4, queued=4)
    ahead.extend(range(40))
    ahead.fill()
    assert [n for n, _ in ready] == [*range(8)]
    go_on.set()
    assert [ahead.take(n) for n in range(40)] == list(range(40))
    assert {thread for _, thread in ready} == {threading.get_ident()}
