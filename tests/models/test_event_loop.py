"""The event loop: work from many threads and from itself, what blocks."""

import asyncio
import threading

import pytest

from needlework.models.event_loop import event_loop, in_thread


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
