"""Requests overlap, in order, within bounds."""

import asyncio
import threading
import time
from functools import partial

import pytest

from needlework.models.event_loop import in_thread
from needlework.pipeline.queue import LookAhead
from tests.at_once import AtOnce


def blocking(work):
    """What is begun for a key: work that blocks, in a thread of its own."""
    return lambda n: lambda: in_thread(lambda: work(n))


def test_answers_belong_to_their_questions():
    ahead = LookAhead(range(50), blocking(lambda n: n * n), width=4)

    assert [ahead.take(n) for n in range(50)] == [n * n for n in range(50)]
    assert ahead.take(99) == 9801, "a question that was not announced is answered too"


def test_many_run_at_once_and_never_more_than_allowed():
    at_once = AtOnce()

    def work(n):
        at_once.work(0.01)
        return n

    ahead = LookAhead(range(40), blocking(work), width=8)
    assert [ahead.take(n) for n in range(40)] == list(range(40))
    assert 4 <= at_once.most <= 8


def test_unread_answers_are_bounded():
    done = []
    ahead = LookAhead(range(1000), blocking(lambda n: done.append(n) or n), width=2)
    ahead.take(0)
    time.sleep(0.1)

    assert len(done) <= 4 * 2 + 1


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

    ahead = LookAhead(
        range(40), lambda n: partial(answers, n) if n else hangs, width=2, size=lambda _answer: 1, room=room
    )
    assert ahead.take(0) == others


def test_each_question_is_asked_once():
    asked = []
    ahead = LookAhead([1, 2, 3], blocking(lambda n: asked.append(n) or n), width=2)
    for n in (3, 1, 2):
        ahead.take(n)
    ahead.close()

    assert sorted(asked) == [1, 2, 3]


def test_a_question_taken_before_its_turn_is_not_asked_again():
    asked = []
    ahead = LookAhead(range(100), blocking(lambda n: asked.append(n) or n), width=2)
    taken = [ahead.take(n) for n in (70, *range(70), *range(71, 100))]

    assert taken[0] == 70
    assert sorted(asked) == list(range(100))


def test_what_goes_wrong_is_told_where_the_answer_is_taken():
    def work(n):
        if n == 1:
            raise ZeroDivisionError
        return n

    ahead = LookAhead(range(3), blocking(work), width=1)
    assert ahead.take(0) == 0
    with pytest.raises(ZeroDivisionError):
        ahead.take(1)
    assert ahead.take(2) == 2


def test_closing_drops_what_has_not_begun():
    begun, go_on = [], threading.Event()
    ahead = LookAhead(range(8), blocking(lambda n: (begun.append(n), go_on.wait(5))), width=2)
    ahead.fill()
    while len(begun) < 2:
        time.sleep(0.005)
    ahead.close()
    go_on.set()
    time.sleep(0.05)

    assert sorted(begun) == [0, 1]


def test_who_takes_answers_makes_ready_in_order_and_a_few_ahead():
    ready, go_on = [], threading.Event()

    def begin(n):
        ready.append((n, threading.get_ident()))
        return lambda: in_thread(lambda: go_on.wait(5) and n)

    ahead = LookAhead(range(40), begin, width=4, queued=4)
    ahead.fill()
    time.sleep(0.1)
    waiting = [n for n, _ in ready]
    go_on.set()

    assert [ahead.take(n) for n in range(40)] == list(range(40))
    assert waiting == list(range(len(waiting)))
    assert 4 <= len(waiting) < 16
    assert {thread for _, thread in ready} == {threading.get_ident()}
