"""One long-lived server with every fault, and two processes that run the harness against it."""

import pytest

from tests.faults.server import running
from tests.faults.sessions import pool


@pytest.fixture(scope="session")
def desk():
    with running() as serving:
        yield serving
        assert not serving.broken


@pytest.fixture(scope="session")
def harness():
    with pool(2) as processes:
        yield processes
        processes.shutdown(cancel_futures=True)  # after -x or Ctrl-C nobody waits for the rest
