"""Adaptive concurrency, retries and giving up; the event loop in which all requests wait."""

import asyncio
import math
import random
import threading
from functools import wraps

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.models.event_loop import event_loop, in_thread
from needlework.models.model import ModelError
from needlework.models.served.errors import LONGEST_RETRY_AFTER_S, AttemptFault
from needlework.models.served.limiter import NEVER_HEARD_S, PATIENCE_S, ROW, RequestLimiter, Retries, Turnstile

SIGNS = st.sampled_from(("answered", "broken", "busy", "late", "slow", "down", "gone"))
STEPS = st.lists(
    st.one_of(
        st.just("begin"),
        st.tuples(st.integers(0, 99), SIGNS, st.none() | st.floats(0, LONGEST_RETRY_AFTER_S)),
        st.floats(0, 100),  # seconds that pass
    ),
    max_size=300,
)


def burst(limiter, sign, now=0.0):
    """As many requests as may be in flight begin together and end together; the slots after it."""
    for begun in [limiter.begin() for _ in range(limiter.slots)]:
        limiter.end(begun, sign, now)
    return limiter.slots


def test_bursts_of_refusals_halve_the_limit_and_answers_raise_it():
    limiter = RequestLimiter(64)
    assert [burst(limiter, "busy") for _ in range(8)] == [32, 16, 8, 4, 2, 1, 1, 1]
    assert [burst(limiter, "answered") for _ in range(16)][-1] == 64
    assert [burst(limiter, sign) for sign in ("broken", "gone", "answered")] == [64] * 3, "faults that are not of load"


def test_refusals_of_requests_begun_before_the_cut_are_the_same_burst():
    limiter = RequestLimiter(64)
    first = [limiter.begin() for _ in range(64)]
    for begun in first[:32]:
        limiter.end(begun, "answered", 0)
    for begun in [*first[32:], *(limiter.begin() for _ in range(32))]:
        limiter.end(begun, "busy", 0)
    cut = limiter.slots
    assert burst(limiter, "answered") > cut


def test_a_crowded_server_is_never_asked_for_so_much_again():
    limiter = RequestLimiter(8)
    assert burst(limiter, "crowded") == 4  # one burst is one cut
    for _ in range(200):
        limiter.end(limiter.begin(), "answered", 0.0)
    assert limiter.slots == 4


def test_retry_after_pauses_all():
    limiter = RequestLimiter(4)
    begun = [limiter.begin(), limiter.begin()]
    limiter.end(begun[0], "busy", now=10.0, retry_after_s=30)
    assert limiter.wait_s(10.0) == 30
    limiter.end(begun[1], "busy", now=11.0, retry_after_s=5)
    assert (limiter.wait_s(11.0), limiter.wait_s(40.0)) == (29, 0), "a shorter wish does not end a longer pause"


@pytest.mark.parametrize(("heard", "patience"), [(True, PATIENCE_S), (False, NEVER_HEARD_S)])
def test_a_server_is_given_up_after_a_row_and_a_time(heard, patience):
    limiter = RequestLimiter(4)
    if heard:
        limiter.end(limiter.begin(), "answered", now=0)
    for _ in range(ROW):
        assert limiter.silent < ROW
        limiter.end(limiter.begin(), "gone", now=1)
    assert limiter.silent >= ROW
    assert not limiter.given_up(1, took_s=0), "a row alone may be a moment of a busy restart"
    assert not limiter.given_up(patience, took_s=0)
    assert limiter.given_up(1 + patience, took_s=0)
    assert not limiter.given_up(1 + patience, took_s=patience), "whose time-outs are long is waited for longer"
    limiter.end(limiter.begin(), "broken", now=2)
    assert limiter.silent == 0, "an error page is a sign of life"
    limiter.end(limiter.begin(), "answered", now=2)
    assert not limiter.given_up(1e6, took_s=0), "it has come back"


@pytest.mark.parametrize(
    ("signs", "options", "told"),
    [
        (("answered", "down", "down", "down") * 60, {"every_s": 0.25}, []),
        (("answered", *["down"] * 9, "answered"), {}, [(6, "silent"), (10, "back")]),
        (("answered", *["busy"] * 20, "answered"), {}, [(6, "refuses"), (21, "back")]),
        (("answered", "busy", "busy", "busy") * 20, {}, []),
        (("slow",) * 4, {"every_s": 0, "begin_s": 120, "took_s": 120}, [(120, "silent")]),
        (("late",) * 4, {"every_s": 0, "begin_s": 9, "took_s": 9}, [(9, "failing")]),
        ((*["broken"] * 8, "answered"), {}, [(5, "failing"), (8, "back")]),
        (("answered", *["gone"] * 8, *["busy"] * 10, "answered"), {}, [(6, "silent"), (14, "refuses"), (19, "back")]),
    ],
)
def test_changes_of_a_servers_state_are_told_once(signs, options, told):
    limiter, changes = RequestLimiter(4), []
    for number, sign in enumerate(signs):
        now = options.get("begin_s", 0) + number * options.get("every_s", 1)
        limiter.end(limiter.begin(), sign, now)
        if (news := limiter.news(now, options.get("took_s", 0))) is not None:
            changes.append((now, news))
    assert changes == [(pytest.approx(at), news) for at, news in told]


@given(width=st.integers(1, 100), steps=STEPS)
def test_what_always_holds(width, steps):
    limiter, now, running = RequestLimiter(width), 0.0, []
    for step in steps:
        if step == "begin":
            wait = limiter.wait_s(now)
            assert wait >= 0
            assert wait <= LONGEST_RETRY_AFTER_S or (wait == math.inf and running), "never waits for nobody"
            if wait == 0:
                running.append(limiter.begin())
                assert len(running) <= limiter.slots
        elif isinstance(step, float):
            now += step
        elif running:
            pick, sign, retry_after = step
            limiter.end(running.pop(pick % len(running)), sign, now, retry_after)
        assert limiter.in_flight == len(running) <= width
        assert 1 <= limiter.slots <= width

    # Whatever came before: with answers the limit comes back, in bounded time.
    for begun in running:
        limiter.end(begun, "answered", now)
    now = max(now, limiter.paused_until)
    for _ in range(2 * width * 16 + 2):
        assert limiter.wait_s(now) == 0
        limiter.end(limiter.begin(), "answered", now)
    assert limiter.slots == width
    assert limiter.silent < ROW


def server_that(*signs):
    limiter = RequestLimiter(4)
    for sign in signs:
        limiter.end(limiter.begin(), sign, 0.0)
    return limiter


@pytest.mark.parametrize(
    ("sign", "server", "ends"),
    [
        ("busy", server_that("answered"), False),  # refusals are waited out beside the retries
        ("gone", server_that("answered", *["gone"] * ROW), False),  # nobody is there: not the request's fault
        ("gone", server_that(), False),  # never there: tried at short pauses until it is given up
        ("gone", server_that("answered"), True),
        ("slow", server_that(), True),  # takes its time by itself, and counts
        ("broken", server_that("answered"), True),
        ("broken", None, True),
    ],
)
def test_what_counts_against_a_requests_retries(sign, server, ends):
    retries = Retries(2, random.Random(0))
    fault = AttemptFault("server", "x", retry=True, sign=sign)
    pauses = [retries.pause_s(fault, server) for _ in range(20)]
    assert [pause is None for pause in pauses] == [False] * 2 + [ends] * 18
    if server is not None and not server.heard and not ends:
        assert max(pause or 0 for pause in pauses) <= 1


def test_pauses_grow_and_scatter():
    jitter = random.Random(0)
    fault = AttemptFault("server", "x", retry=True)
    for n in range(11):
        pauses = [Retries(99, jitter, failures=n).pause_s(fault) for _ in range(200)]
        assert 0 <= min(pauses) < 0.1 * min(30, 2**n), "the whole width is used"
        assert 0.9 * min(30, 2**n) < max(pauses) <= min(30, 2**n)


WHY = ModelError("server", "gone", fatal=True)


def in_loop(test):
    """The test, run in the event loop."""

    @wraps(test)
    def run(**arguments):
        event_loop().wait(asyncio.wait_for(test(**arguments), 20))

    return run


@in_loop
async def test_pauses_count_as_no_request_and_end_when_the_server_is_back_or_the_gate_closes():
    gate = Turnstile(1)
    pauses = asyncio.gather(*(gate.wait(1000) for _ in range(3)))
    await asyncio.sleep(0)
    assert await gate.enter() is not None
    gate.end_pauses()
    await pauses
    pause = asyncio.create_task(gate.wait(1000))
    waiting = [asyncio.create_task(gate.enter()) for _ in range(4)]
    await asyncio.sleep(0.02)
    assert gate.close(WHY) is WHY
    assert gate.close(ModelError("server", "later")) is WHY
    assert await asyncio.wait_for(asyncio.gather(pause, *waiting), 5) == [None] * 5
    assert gate.closed is WHY


@in_loop
async def test_who_is_asked_alone_waits_for_all_and_all_wait_for_it():
    gate, order = Turnstile(8), []

    async def pass_through(name, alone):
        passage = await gate.enter(alone=alone)
        order.append(name)
        assert passage is not None
        gate.leave(passage, "answered")

    first = await gate.enter()
    assert first is not None
    others = [asyncio.create_task(pass_through("alone", True))]
    await asyncio.sleep(0)
    others.append(asyncio.create_task(pass_through("other", False)))
    await asyncio.sleep(0.01)
    assert order == []
    gate.leave(first, "answered")
    await asyncio.wait_for(asyncio.gather(*others), 5)
    assert order == ["alone", "other"]


async def doubled(number):
    await asyncio.sleep(0)
    return 2 * number


def test_beside_another_loop_as_in_a_notebook():
    async def cell():
        return event_loop().wait(doubled(2))

    assert asyncio.run(cell()) == 4


def test_what_blocks_is_done_elsewhere_and_what_it_raises_comes_back():
    async def both():
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 // 0)
        return await in_thread(threading.get_ident)

    async def here():
        return threading.get_ident()

    assert event_loop().wait(both()) not in (event_loop().wait(here()), threading.get_ident())


def test_it_does_not_wait_for_itself():
    async def waits():
        event_loop().wait(doubled(1))

    with pytest.raises(RuntimeError, match="itself"):
        event_loop().wait(waits())
