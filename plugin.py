"""The pytest plugin. A project's `conftest.py` has it by `pytest_plugins = ("needlework.plugin",)`."""

from __future__ import annotations

pytest_plugins = (
    "needlework.haystack_fixtures.session.plugin",
    "needlework.scoring.plugin",
    "needlework.results.session.plugin",
)
