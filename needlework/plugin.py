"""The pytest plugin. A project's `conftest.py` has it by `pytest_plugins = ("needlework.plugin",)`.

PYTEST_DONT_REWRITE: see `autoload`; pytest would warn where this was imported before it is named.
"""

from __future__ import annotations

import pytest

from needlework.pytest_plugin import scoring
from needlework.pytest_plugin.asking import (
    batches,
    collection,
    end,
    fixtures,
    modes,
    options,
    sharding,
    start,
)
from needlework.pytest_plugin.recording import answers, reports
from needlework.pytest_plugin.recording import plan as recorded_plan
from needlework.pytest_plugin.recording import sharding as recorded_sharding
from needlework.pytest_plugin.recording import start as recording_start

# pytest calls hooks of one name in the reverse of this order, but for those that ask to be first or last.
PARTS = (
    options,
    start,
    collection,
    modes,
    sharding,
    fixtures,
    batches,
    end,
    scoring,
    recording_start,
    recorded_sharding,
    recorded_plan,
    answers,
    reports,
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the parts, in this order. `pytest_plugins` would have pytest look through all installed packages for the
    name of each.
    """
    for part in PARTS:
        if not pluginmanager.has_plugin(part.__name__):
            pluginmanager.register(part, part.__name__)
