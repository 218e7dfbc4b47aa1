"""Requests overlap, in order, within bounds."""

import threading
import time

from haystack_fixtures.look_ahead import LookAhead


def test_answers_belong_to_their_questions():
    ahead = LookAhead(range(50), lambda n: n * n, width=4)

    assert [ahead.take(n) for n in range(50)] == [n * n for n in range(50)]
    assert ahead.take(99) == 9801, "a question that was not announced is answered too"


def test_many_run_at_once_and_never_more_than_allowed():
    lock, running, most = threading.Lock(), 0, 0

    def work(n):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return n

    ahead = LookAhead(range(40), work, width=8)
    assert [ahead.take(n) for n in range(40)] == list(range(40))
    assert 4 <= most <= 8


def test_unread_answers_are_bounded():
    done = []
    ahead = LookAhead(range(1000), lambda n: done.append(n) or n, width=2)
    ahead.take(0)
    time.sleep(0.1)

    assert len(done) <= 4 * 2 + 1


def test_each_question_is_asked_once():
    asked = []
    ahead = LookAhead([1, 2, 3], lambda n: asked.append(n) or n, width=2)
    for n in (3, 1, 2):
        ahead.take(n)
    ahead.close()

    assert sorted(asked) == [1, 2, 3]
