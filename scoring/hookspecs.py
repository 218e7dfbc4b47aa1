"""Hooks that other plugins may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from needlework.scoring.ahead import Waiting
    from needlework.scoring.recording import Scored


@pytest.hookspec
def pytest_cell_ruled(config: pytest.Config, exchange: Waiting, scored: Scored) -> None:
    """An exchange has been scored before its cell's turn, and judges may have been asked. Called in threads.

    The results plugin writes it down, so that no ruling is paid for again when the run is killed.
    """
