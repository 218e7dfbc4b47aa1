"""Options that say where the others come from."""

from __future__ import annotations

from needlework.haystack_fixtures.settings.option import CONFIGURATION, Option
from needlework.haystack_fixtures.settings.option_values import text

OPTIONS: tuple[Option, ...] = (
    Option("config", CONFIGURATION, "TOML file with any of these options; the command line wins", text, metavar="FILE"),
    Option(
        "preset",
        CONFIGURATION,
        "suite by name (--preset list prints them), or a file: TOML, YAML, JSON, OpenCompass's or EvalScope's .py",
        text,
        "quick",
        metavar="NAME",
    ),
)
