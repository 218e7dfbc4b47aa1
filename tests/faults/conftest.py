"""One long-lived server with every fault, and two processes that run the harness against it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.faults.server import Desk, running
from tests.faults.sessions import pool


@pytest.fixture(scope="session")
def desk() -> Iterator[Desk]:
    with running() as serving:
        yield serving
        assert not serving.broken


@pytest.fixture(scope="session")
def harness() -> Iterator[ProcessPoolExecutor]:
    with pool(2) as processes:
        yield processes
        processes.shutdown(cancel_futures=True)  # after -x or Ctrl-C nobody waits for the rest
