"""The reader: who drives it, what it is told to do from many threads and from itself, and after a fork."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from needlework.models.event_loop import in_thread, reader


async def doubled(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_many_threads_wait_for_it_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: reader().wait(doubled(n)), range(500))) == [2 * n for n in range(500)]


_FIRST = """
import sys, threading
from needlework.models.event_loop import reader
sys.setswitchinterval(1e-6)
together, seen = threading.Barrier(8), set()
def ask():
    together.wait()
    seen.add(id(reader()))
threads = [threading.Thread(target=ask) for _ in range(8)]
[each.start() for each in threads], [each.join() for each in threads]
print(len(seen))
"""


def test_threads_that_ask_first_at_the_same_moment_have_one() -> None:
    done = subprocess.run([sys.executable, "-c", _FIRST], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_all_that_is_begun_is_done_whoever_begins_it_and_never_by_two_at_once() -> None:
    seen: list[int] = []
    alone, whole = threading.Lock(), threading.Event()

    async def note(number: int) -> None:
        assert alone.acquire(blocking=False)
        seen.append(number)
        alone.release()
        if len(seen) == 4000:
            whole.set()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: [reader().begin(note(1000 * n + i)) for i in range(1000)], range(4)))
    assert whole.wait(10)
    assert sorted(seen) == list(range(4000))


class Asked:
    """Work that notes which threads it was done in, and lets who carries on return when it is over."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self.threads: list[int] = []
        self.over = False

    async def work(self) -> None:
        self.threads.append(threading.get_ident())
        await asyncio.sleep(self._pause_s)
        self.threads.append(threading.get_ident())
        self.over = True
        reader().pause()

    def wait(self) -> None:
        while not self.over:
            reader().carry_on(unless=lambda: self.over)


def test_who_begins_work_and_waits_for_it_does_it() -> None:
    asked, here = Asked(0.02), threading.get_ident()
    reader().begin(asked.work())
    asked.wait()

    assert asked.threads == [here, here]


def test_while_that_one_does_something_else_the_readers_own_thread_stands_in() -> None:
    asked, here = Asked(0.02), threading.get_ident()
    reader().begin(asked.work())
    time.sleep(0.2)

    assert asked.over
    assert asked.threads[0] == here != asked.threads[1]
    asked.wait()  # what has come already is not waited for


def test_looking_carries_on_what_has_news() -> None:
    asked, here = Asked(0.001), threading.get_ident()
    reader().begin(asked.work())
    until = time.monotonic() + 10
    while not asked.over and time.monotonic() < until:
        reader().look()

    assert asked.threads == [here, here]


def test_beside_another_loop_as_in_a_notebook() -> None:
    asked, here = Asked(0.02), threading.get_ident()

    async def cell() -> None:
        reader().begin(asked.work())
        reader().look()
        asked.wait()

    asyncio.run(cell())

    assert asked.over
    assert here not in asked.threads


def test_who_is_interrupted_while_it_drives_learns_it_and_others_go_on() -> None:
    asked = Asked(0.05)

    async def interrupted() -> None:
        raise KeyboardInterrupt

    reader().begin(asked.work())
    with pytest.raises(KeyboardInterrupt):
        reader().begin(interrupted())
    asked.wait()
    assert reader().wait(doubled(2)) == 4


def test_what_blocks_is_done_elsewhere_and_what_it_raises_comes_back() -> None:
    async def both() -> int:
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 // 0)
        return await in_thread(threading.get_ident)

    async def here() -> int:
        return threading.get_ident()

    assert reader().wait(both()) not in (reader().wait(here()), threading.get_ident())


def test_it_does_not_wait_for_itself() -> None:
    async def waits() -> None:
        reader().wait(doubled(1))

    with pytest.raises(RuntimeError, match="itself"):
        reader().wait(waits())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12: it has threads
def test_a_forked_child_has_a_reader_of_its_own() -> None:
    assert reader().wait(doubled(2)) == 4
    child = os.fork()
    if child == 0:
        os._exit(reader().wait(doubled(3)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6
