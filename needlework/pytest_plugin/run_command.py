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
    return int(pytest.main([*BENCHMARKS, *argv]))


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
