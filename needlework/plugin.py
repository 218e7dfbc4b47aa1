"""The pytest plugin. A project's `conftest.py` has it by `pytest_plugins = ("needlework.plugin",)`.

PYTEST_DONT_REWRITE: see `autoload`; pytest would warn where this was imported before it is named.
"""

from __future__ import annotations

import pytest

from needlework.haystack_fixtures.session import plugin as asking
from needlework.results.session import plugin as recording
from needlework.scoring import plugin as scoring

PARTS = (*asking.PARTS, scoring, *recording.PARTS)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the parts, in this order. `pytest_plugins` would have pytest look through all installed packages for the
    name of each.
    """
    for part in PARTS:
        if not pluginmanager.has_plugin(part.__name__):
            pluginmanager.register(part, part.__name__)
