"""The parts of the pytest plugin."""

from __future__ import annotations

import pytest

from needlework.core.files import replace_closed_streams
from needlework.pytest_plugin import collection, fixtures, hookspecs, latency, modes, options, reports, session

# pytest calls hooks of one name in the reverse of this order, but for those that ask to be first or last.
PARTS = (options, session, collection, modes, fixtures, latency, reports)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hooks and the parts, in this order. `pytest_plugins` would have pytest look through all installed
    packages for the name of each.
    """
    replace_closed_streams()
    pluginmanager.add_hookspecs(hookspecs)
    for part in PARTS:
        if not pluginmanager.has_plugin(part.__name__):
            pluginmanager.register(part, part.__name__)
