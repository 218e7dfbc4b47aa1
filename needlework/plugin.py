"""The pytest plugin. A project's `conftest.py` has it by `pytest_plugins = ("needlework.plugin",)`.

PYTEST_DONT_REWRITE: see `autoload`; pytest would warn where this was imported before it is named.
"""

from needlework.pytest_plugin.plugin import pytest_addhooks

__all__ = ["pytest_addhooks"]
