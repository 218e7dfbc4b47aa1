"""Hooks that other plugins may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from concurrent.futures import Future

    from needlework.scoring.ahead import Waiting
    from needlework.scoring.recording import Scored


@pytest.hookspec
def pytest_cell_ruled(config: pytest.Config, exchange: Waiting, scored: Scored) -> None:
    """An exchange has been scored before its cell's turn, and judges may have been asked. Called in threads.

    The results plugin writes it down, so that no ruling is paid for again when the run is killed.
    """


@pytest.hookspec
def pytest_ruling_awaited(config: pytest.Config, ruling: Future[Scored]) -> None:
    """A test waits for its judges, who may take their time. Whoever has something else to do returns when they have
    ruled (`ruling.done()`), or before.

    The asking plugin asks the cells to come: a request to judges that hangs must not stop all others.
    """
