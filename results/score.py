"""`needlework score BENCHMARK FILES...`: score another benchmark's prediction files, without a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Protocol

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.results.elsewhere import command as elsewhere
from needlework.results.leval import command as leval


class _Command(Protocol):
    """What scores the files of one benchmark."""

    ABOUT: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, options: argparse.Namespace) -> None: ...


_BENCHMARKS: dict[str, _Command] = {
    "leval": leval,
    "mrcr": elsewhere.MRCR,
    "graphwalks": elsewhere.GRAPHWALKS,
    "longbench-v2": elsewhere.LONGBENCH_V2,
}


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    parser = OneLineParser(prog="needlework score", description=__doc__)
    benchmarks = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    for name, benchmark in _BENCHMARKS.items():
        benchmark.add_arguments(benchmarks.add_parser(name, help=benchmark.ABOUT, description=benchmark.__doc__))
    options = parser.parse_args(argv)
    try:
        _BENCHMARKS[options.benchmark].run(options)
    except InputError as error:
        return refuse("score", error)
    return 0
