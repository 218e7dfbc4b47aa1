"""`needlework run`: needlework's own benchmarks, without a checkout."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pytest

from needlework.haystack_fixtures.configuration.option_table import OPTIONS
from needlework.pytest_plugin.options import add_option

BENCHMARKS = ("-p", "needlework.plugin", "--pyargs", "needlework.benchmarks")


def main(argv: Sequence[str]) -> int:
    """Run pytest on the benchmarks with these options; returns its exit code. `--help` shows needlework's alone."""
    if {"-h", "--help"} & set(argv):
        _help_parser().parse_args(["--help"])
    return int(pytest.main([*BENCHMARKS, *_join_values(argv)]))


def _join_values(argv: Sequence[str]) -> list[str]:
    """Write `--documents FOLDER` as `--documents=FOLDER`.

    pytest takes a path that stands alone for a folder of tests: it would look for its settings there, not here, and
    write its cache there.
    """
    takes_value = {
        f"--{name}" for option in OPTIONS if not option.flag for name in (option.name, *option.words.aliases)
    }
    joined: list[str] = []
    for word in argv:
        if joined and joined[-1] in takes_value and not word.startswith("-"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _help_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="needlework run",
        usage="needlework run [OPTION ...]",
        description="Run needlework's benchmarks, as `pytest --pyargs needlework.benchmarks` does. Options of"
        " pytest (-n, -k, -q, ...: `pytest --help`) may stand among these.",
    )
    groups = {
        title: parser.add_argument_group(title) for title in dict.fromkeys(option.words.group for option in OPTIONS)
    }
    for option in OPTIONS:
        add_option(groups[option.words.group].add_argument, option)
    return parser
