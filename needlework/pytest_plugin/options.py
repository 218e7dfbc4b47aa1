"""Options of pytest, what was given of them, and answers to unknown ones."""

import os
from argparse import SUPPRESS, ArgumentError
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal

import pytest

from needlework.core.errors import nearest
from needlework.core.options import Option
from needlework.core.settings import BY_KEY, OPTIONS
from needlework.haystack_fixtures.configuration.peer_names import NAMES


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.get_plugin("pytestconfig")
    typed = [str(word) for word in config.invocation_params.args] if isinstance(config, pytest.Config) else []
    parser.extra_info["needlework"] = UnknownOptions(parser, typed)
    after = "general"
    for option in OPTIONS:
        # pytest's own general options come first; ours follow, most used ones at their head.
        group = parser.getgroup(option.group.replace(":", "").replace(" ", "-"), option.group, after=after)
        after = group.name
        try:
            add_option(group.addoption, option)
        except (ArgumentError, ValueError):
            remedy = "rename it, or leave it out with --noconftest or -p no:PLUGIN"
            raise pytest.UsageError(
                f"--{option.name}: a conftest.py or another plugin has an option of that name: {remedy}"
            ) from None
        kind: Literal["linelist", "string"] = "linelist" if option.repeatable else "string"
        parser.addini(option.key, f"as --{option.name}", type=kind, default=None)


def add_option(add: Callable[..., Any], option: Option) -> None:
    """Add the option by `add`, of pytest's parser or of one of argparse."""
    shown = option.shown_default or option.default
    default = f" [{shown}{', or as the preset says' if option.suite else ''}]" if shown and not option.flag else ""
    how: dict[str, Any] = {"action": "append" if option.repeatable or option.once else "store"}
    how["metavar"] = option.metavar or "VALUE"
    if option.flag:
        how = {"action": "store_const", "const": "true"}
    if option.bare:
        how |= {"nargs": "?", "const": option.bare}
    names = [f"--{name}" for name in (option.name, *option.aliases)]
    add(*names, dest=option.key, help=(option.help + default).replace("%", "%%"), **how)
    if option.flag and option.suite and not option.name.startswith("no-"):
        add(f"--no-{option.name}", dest=option.key, action="store_const", const="false", help=SUPPRESS)


class UnknownOptions:
    """A line of pytest's usage errors (`Parser.extra_info`), made late: all plugins are loaded then."""

    def __init__(self, parser: pytest.Parser, words: Sequence[str]) -> None:
        self._parser, self._words, self._is_parsing = parser, words, False

    def __str__(self) -> str:
        unknown: list[str] = []
        if not self._is_parsing:  # another parse error asks for this line again
            self._is_parsing = True
            with suppress(pytest.UsageError):
                unknown = self._parser.parse_known_and_unknown_args(self._words)[1]
            self._is_parsing = False
        return "; ".join(hints(unknown)) or "needlework run --help lists its options"


def hints(unknown: Sequence[str]) -> Iterator[str]:
    """A hint for each unknown option: its spelling, our option for it, or the nearest name."""
    for word in unknown:
        name = word.partition("=")[0]
        if not name.startswith("--"):
            continue
        key = name.removeprefix("--").replace("-", "_")
        if key in BY_KEY:
            yield f"{name}: write --{BY_KEY[key].name}"
        elif key in NAMES:
            yield f"{name} ({', '.join(NAMES[key].peers)}): here {NAMES[key].remedy}"
        elif near := nearest(key, BY_KEY, NAMES):
            ours = near in BY_KEY
            yield f"{name}: did you mean --{BY_KEY[near].name}?" if ours else f"{name}: here {NAMES[near].remedy}"


# Said by the machine that a process is on; the command line comes before it, files come after.
_OF_ENVIRONMENT = {"base_url": "NEEDLEWORK_BASE_URL"}


def command_line_values(config: pytest.Config) -> dict[str, str | list[str]]:
    values = {option.key: config.getoption(option.key) for option in OPTIONS}
    words = {key: _word(value) for key, value in values.items() if value is not None}
    return {key: value for key, name in _OF_ENVIRONMENT.items() if (value := os.environ.get(name, "").strip())} | words


def _word(value: Any) -> Any:
    """argparse reads `--option=--` as an empty list."""
    return "--" if value == [] else [_word(each) for each in value] if isinstance(value, list) else value


def ini_values(config: pytest.Config) -> dict[str, str | list[str]]:
    values = {option.key: config.getini(option.key) for option in OPTIONS}
    return {key: value for key, value in values.items() if value}
