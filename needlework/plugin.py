"""The pytest plugin. A project's `conftest.py` has it by `pytest_plugins = ("needlework.plugin",)`.

PYTEST_DONT_REWRITE: see `autoload`; pytest would warn where this was imported before it is named.
"""

from __future__ import annotations

import pytest

from needlework.haystack_fixtures.session import (
    batches,
    collection,
    end,
    fixtures,
    limiting,
    options,
    plan,
    sharding,
    start,
)
from needlework.results.session import answers, benchmark, letters, news, reports
from needlework.results.session import batches as recorded_batches
from needlework.results.session import plan as recorded_plan
from needlework.results.session import sharding as recorded_sharding
from needlework.results.session import start as recording_start
from needlework.scoring import plugin as scoring

# pytest calls hooks of one name in the reverse of this order, but for those that ask to be first or last.
PARTS = (
    options,
    start,
    collection,
    limiting,
    sharding,
    fixtures,
    plan,
    batches,
    end,
    scoring,
    recording_start,
    benchmark,
    recorded_sharding,
    recorded_plan,
    recorded_batches,
    answers,
    letters,
    news,
    reports,
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the parts, in this order. `pytest_plugins` would have pytest look through all installed packages for the
    name of each.
    """
    for part in PARTS:
        if not pluginmanager.has_plugin(part.__name__):
            pluginmanager.register(part, part.__name__)
