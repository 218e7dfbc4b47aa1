"""Hooks that other plugins may implement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest


@pytest.hookspec(firstresult=True)
def pytest_cell_stored(config: pytest.Config, key: str) -> Mapping[str, Any] | None:
    """Give the record of a trial that has been answered before, found by its key, or `None`.

    The results plugin answers from the journal of a resumed run; the stored answer is then scored again in place of
    asking the model::

        def pytest_cell_stored(config, key):
            return my_answers.get(key)
    """
