"""The pytest plugin. A project's `conftest.py` has it by `pytest_plugins = ("needlework.plugin",)`.

PYTEST_DONT_REWRITE: see `autoload`; pytest would warn where this was imported before it is named.
"""

from __future__ import annotations

from typing import Any

from needlework.core.files import replace_closed_streams
from needlework.pytest_plugin import collection, devices, hookspecs, latency, modes, options, reports, session

# pytest calls hooks of one name in the reverse of this order, but for those that ask to be first or last.
PARTS = (options, session, devices, collection, modes, latency, reports)


def pytest_addhooks(pluginmanager: Any) -> None:
    """Register the hooks and the parts, in this order.
    `pytest_plugins` would have pytest search all installed packages for each name."""
    replace_closed_streams()
    pluginmanager.add_hookspecs(hookspecs)
    for part in PARTS:
        if not pluginmanager.has_plugin(part.__name__):
            pluginmanager.register(part, part.__name__)
