"""Options and hooks, as pytest is told of them."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentError
from typing import Any

import pytest

from needlework.haystack_fixtures import hookspecs
from needlework.haystack_fixtures.configuration.options import OPTIONS
from needlework.haystack_fixtures.session.unknown_options import UnknownOptions


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.get_plugin("pytestconfig")
    words = [str(word) for word in config.invocation_params.args] if isinstance(config, pytest.Config) else []
    parser.extra_info["needlework"] = UnknownOptions(parser, words)
    for option in OPTIONS:
        shown = option.shown_default or option.default
        default = f" [{shown}{', or as the preset says' if option.suite else ''}]" if shown and not option.flag else ""
        group = parser.getgroup(option.group.split(":")[0] + option.group.split(":")[1].replace(" ", "-"), option.group)
        text = (option.help + default).replace("%", "%%")
        how: dict[str, Any] = {
            "action": "append" if option.repeatable or option.once else "store",
            "metavar": option.metavar,
        }
        if option.flag:
            how = {"action": "store_const", "const": "true"}
        if option.bare:
            how |= {"nargs": "?", "const": option.bare}
        try:
            names = [f"--{name}" for name in (option.name, *option.aliases)]
            group.addoption(*names, dest=option.key, help=text, **how)
            if option.flag and option.suite and not option.name.startswith("no-"):
                group.addoption(
                    f"--no-{option.name}", dest=option.key, action="store_const", const="false", help=SUPPRESS
                )
        except (ArgumentError, ValueError):
            remedy = "rename it, or leave it out with --noconftest or -p no:PLUGIN"
            raise pytest.UsageError(
                f"--{option.name}: a conftest.py or another plugin has an option of that name: {remedy}"
            ) from None
        if option.repeatable:
            parser.addini(option.key, text, type="linelist", default=None)
        else:
            parser.addini(option.key, text, type="string", default=None)
