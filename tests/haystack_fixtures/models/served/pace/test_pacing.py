"""How many requests may be in flight: it falls in storms, once a burst, and always comes back."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.models.served.errors import LONGEST_DELAY_S, LONGEST_RETRY_AFTER_S, AttemptFault, Retries
from needlework.models.served.limiter import (
    NEVER_HEARD_S,
    PATIENCE_S,
    REFUSED_S,
    REFUSES_S,
    ROW,
    News,
    RequestLimiter,
    Sign,
)

SIGNS = st.sampled_from(("answered", "broken", "busy", "late", "slow", "down", "gone"))
STEPS = st.lists(
    st.one_of(
        st.just("begin"),
        st.tuples(st.integers(0, 99), SIGNS, st.none() | st.floats(0, LONGEST_RETRY_AFTER_S)),
        st.floats(0, 100),  # seconds that pass
    ),
    max_size=300,
)


def burst(pace: RequestLimiter, sign: Sign, now: float = 0.0) -> None:
    """As many requests as may be in flight begin together and end together."""
    for begun in [pace.begin() for _ in range(pace.slots)]:
        pace.end(begun, sign, now)


def test_a_burst_of_refusals_halves_the_limit_once() -> None:
    pace = RequestLimiter(64)
    burst(pace, "busy")
    assert pace.slots == 32
    burst(pace, "busy")
    assert pace.slots == 16


def test_refusals_of_requests_begun_before_the_cut_are_the_same_burst() -> None:
    pace = RequestLimiter(8)
    first = [pace.begin() for _ in range(8)]
    for begun in first[:7]:
        pace.end(begun, "busy", 0)
    late = first[7]
    pace.end(pace.begin(), "busy", 0)
    assert pace.slots == 4
    pace.end(late, "busy", 0)
    assert pace.slots == 4


def test_a_burst_that_a_round_cuts_in_two_lowers_the_limit_once() -> None:
    """Of 64 refusals 32 end a round. The other 32 were begun before its cut, so the next round has answers alone."""
    pace = RequestLimiter(64)
    first = [pace.begin() for _ in range(64)]
    for begun in first[:32]:
        pace.end(begun, "answered", 0)
    for begun in [*first[32:], *(pace.begin() for _ in range(32))]:
        pace.end(begun, "busy", 0)
    cut = pace.slots

    burst(pace, "answered")
    assert pace.slots > cut


def test_a_few_refusals_cost_little() -> None:
    pace = RequestLimiter(64)
    for _ in range(40):
        begun = [pace.begin() for _ in range(pace.slots)]
        for i, each in enumerate(begun):
            pace.end(each, "busy" if i % 10 == 0 else "answered", 0)
    assert pace.slots > 48


def test_faults_that_are_not_of_load_leave_the_limit() -> None:
    pace = RequestLimiter(16)
    for sign in ("broken", "gone", "answered"):
        burst(pace, sign)
    assert pace.slots == 16


def test_successes_raise_the_limit_again() -> None:
    pace = RequestLimiter(64)
    for _ in range(10):
        burst(pace, "busy")
    assert pace.slots == 1
    rounds = 0
    while pace.slots < 64:
        burst(pace, "answered")
        rounds += 1
    assert rounds <= 16


def test_retry_after_pauses_all() -> None:
    pace = RequestLimiter(4)
    begun = [pace.begin(), pace.begin()]
    pace.end(begun[0], "busy", now=10.0, retry_after_s=30)
    assert pace.wait_s(10.0) == 30
    pace.end(begun[1], "busy", now=11.0, retry_after_s=5)
    assert pace.wait_s(11.0) == 29, "a shorter wish does not end a longer pause"
    assert pace.wait_s(40.0) == 0


def test_an_outage_is_a_row_without_a_sign_of_life() -> None:
    pace = RequestLimiter(4)
    for second in range(ROW - 1):
        pace.end(pace.begin(), "gone", now=second)
    assert not pace.outage
    pace.end(pace.begin(), "broken", now=20)
    assert pace.silent == 0, "an error page is a sign of life"


def test_answers_that_do_not_end_lower_the_limit_and_are_signs_of_life() -> None:
    pace = RequestLimiter(16)
    burst(pace, "late")
    assert pace.slots == 8
    for second in range(2 * ROW):
        pace.end(pace.begin(), "late", now=100 * second)
    assert not pace.outage
    assert pace.heard


@pytest.mark.parametrize(("heard", "patience"), [(True, PATIENCE_S), (False, NEVER_HEARD_S)])
def test_a_server_is_given_up_after_a_row_and_a_time(heard: bool, patience: float) -> None:
    pace = RequestLimiter(4)
    if heard:
        pace.end(pace.begin(), "answered", now=0)
    for _ in range(ROW):
        pace.end(pace.begin(), "gone", now=1)
    assert not pace.given_up(1, took_s=0), "a row alone may be a moment of a busy restart"
    assert not pace.given_up(patience, took_s=0)
    assert pace.given_up(1 + patience, took_s=0)
    assert not pace.given_up(1 + patience, took_s=patience), "whose time-outs are long is waited for longer"
    pace.end(pace.begin(), "busy", now=2)
    assert not pace.given_up(1e6, took_s=0), "it has come back"


def test_a_server_that_answers_in_between_is_not_told_to_be_silent() -> None:
    pace, told = RequestLimiter(4), []
    for second in range(60):
        for sign in ("answered", "down", "down", "down"):
            pace.end(pace.begin(), sign, now=second)
            told.append(pace.news(second, took_s=0))
    assert told == [None] * 240
    for second in range(61, 64):
        pace.end(pace.begin(), "gone", now=second)
        told.append(pace.news(second, took_s=0))
    silent = News("silent", 118)
    assert told[240:] == [silent, None, None], "of the 120 seconds since the last of the storm, two have gone"
    pace.end(pace.begin(), "answered", now=64)
    assert pace.news(64, took_s=0) == News("back")
    assert pace.news(64, took_s=0) is None


def told_of(
    pace: RequestLimiter, *signs: Sign, every_s: float, begin_s: float = 0.0, retry_after_s: float | None = None
) -> list:
    """What is told when attempts end one after the other, `(when, news)`."""
    told = []
    for at, sign in enumerate(signs):
        now = begin_s + at * every_s
        pace.end(pace.begin(), sign, now, retry_after_s)
        if (news := pace.news(now, took_s=0)) is not None:
            told.append((now, news))
    return told


def test_a_server_that_only_refuses_is_told_once_and_once_that_it_answers() -> None:
    signs: list[Sign] = ["answered", *["busy"] * 20, "answered"]
    refuses = News("refuses", REFUSED_S - REFUSES_S)
    assert told_of(RequestLimiter(4), *signs, every_s=1) == [(1 + REFUSES_S, refuses), (21, News("back"))]


def test_refusals_among_answers_are_not_told() -> None:
    assert not told_of(RequestLimiter(4), *["answered", "busy", "busy", "busy"] * 20, every_s=1)


def test_a_server_that_has_never_answered_is_told_to_refuse_as_soon_as_it_says_for_how_long() -> None:
    ((at, news),) = told_of(RequestLimiter(4), *["busy"] * 4, every_s=0.1, retry_after_s=60)
    assert (at, news.what) == (0.2, "refuses")
    answered = RequestLimiter(4)
    told_of(answered, "answered", every_s=1)
    assert not told_of(answered, *["busy"] * 4, every_s=0.1, begin_s=1, retry_after_s=60), "a limit for each minute"


def test_a_server_that_refuses_after_an_outage_has_not_answered() -> None:
    signs: list[Sign] = ["answered", *["gone"] * 5, *["busy"] * 10, "answered"]
    told = [news.what for _, news in told_of(RequestLimiter(4), *signs, every_s=1)]
    assert told == ["silent", "refuses", "back"]


def test_time_outs_of_a_server_that_has_never_answered_are_told_after_the_first() -> None:
    pace = RequestLimiter(4)
    for _ in range(4):
        pace.end(pace.begin(), "slow", now=120)
    assert pace.news(120, took_s=120) == News("silent", 360)


def test_time_outs_of_some_while_others_are_answered_are_not_told() -> None:
    pace = RequestLimiter(8)
    begun = [pace.begin() for _ in range(4)]
    pace.end(pace.begin(), "answered", now=119.9)
    for each in begun:
        pace.end(each, "slow", now=120)
    assert pace.news(120, took_s=120) is None


@given(width=st.integers(1, 100), steps=STEPS)
def test_what_always_holds(width: int, steps: list) -> None:
    pace, now, running = RequestLimiter(width), 0.0, []
    for step in steps:
        if step == "begin":
            wait = pace.wait_s(now)
            assert wait >= 0
            assert wait <= LONGEST_RETRY_AFTER_S or (wait == math.inf and running), "never waits for nobody"
            if wait == 0:
                running.append(pace.begin())
                assert len(running) <= pace.slots
        elif isinstance(step, float):
            now += step
        elif running:
            pick, sign, retry_after = step
            pace.end(running.pop(pick % len(running)), sign, now, retry_after)
        assert pace.in_flight == len(running) <= width
        assert 1 <= pace.slots <= width

    # Whatever came before: with answers the limit comes back, in bounded time.
    for begun in running:
        pace.end(begun, "answered", now)
    now = max(now, pace.paused_until)
    for _ in range(2 * width * 16 + 2):
        assert pace.wait_s(now) == 0
        pace.end(pace.begin(), "answered", now)
    assert pace.slots == width
    assert not pace.outage


@given(
    allowed=st.integers(0, 10),
    signs=st.lists(SIGNS, min_size=1),
    outage=st.booleans(),
    seed=st.integers(),
)
def test_a_request_ends(allowed: int, signs: list[Sign], outage: bool, seed: int) -> None:
    spent, jitter = Retries(allowed), random.Random(seed)
    signs = [sign for sign in signs if not (outage and sign in ("down", "gone"))] or ["busy"]
    tries, waited = 0, 0.0
    while True:
        fault = AttemptFault("server", "x", retry=True, sign=signs[tries % len(signs)])
        pause = spent.pause_s(fault, outage=outage, jitter=jitter)
        if pause is None:
            break
        tries += 1
        waited += pause
        assert pause >= 0
    assert tries <= 2000
    assert waited <= REFUSED_S + LONGEST_DELAY_S * (allowed + 1)


def test_refusals_are_waited_out_beside_the_retries() -> None:
    spent, jitter = Retries(allowed=1), random.Random(0)
    busy = AttemptFault("rate_limit", "slow down", retry=True, sign="busy", retry_after_s=2)
    broken = AttemptFault("server", "boom", retry=True, sign="broken")
    assert all(spent.pause_s(busy, outage=False, jitter=jitter) for _ in range(20))
    assert spent.pause_s(broken, outage=False, jitter=jitter) is not None
    assert spent.pause_s(broken, outage=False, jitter=jitter) is None


def test_nobody_there_is_not_the_requests_fault() -> None:
    spent, jitter = Retries(allowed=1), random.Random(0)
    gone = AttemptFault("server", "refused", retry=True, sign="gone")
    assert all(spent.pause_s(gone, outage=True, jitter=jitter) is not None for _ in range(20))
    assert spent.pause_s(gone, outage=False, jitter=jitter) is not None
    assert spent.pause_s(gone, outage=False, jitter=jitter) is None


def test_who_was_never_there_is_tried_at_short_pauses_until_it_is_given_up() -> None:
    spent, jitter = Retries(allowed=0), random.Random(0)
    gone = AttemptFault("server", "refused", retry=True, sign="gone")
    pauses = [spent.pause_s(gone, outage=False, jitter=jitter, never_heard=True) for _ in range(100)]
    assert all(pause is not None and 0 <= pause <= 1 for pause in pauses)
    slow = AttemptFault("timeout", "silent", retry=True, sign="slow")  # takes its time by itself, and counts
    assert spent.pause_s(slow, outage=False, jitter=jitter, never_heard=True) is None
