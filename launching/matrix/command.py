"""`needlework matrix FILE.toml`: runs every configuration, one after another, and compares each with the first."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.launching.matrix.child import Ended, command, log_of, run
from needlework.launching.matrix.file import Configuration, Matrix, read_matrix
from needlework.launching.matrix.live import Live
from needlework.launching.matrix.outcome import exit_code, outcome, write
from needlework.results.status.lines import clock
from needlework.results.style.text import relative

INTERRUPTED = 2


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code (docs/recipes.md), 2 after one line about what was wrong, or Ctrl-C."""
    options = _parser().parse_args(argv)
    try:
        matrix = read_matrix(options.file)
        chosen = _chosen(matrix, options.only)
        if options.plan:
            return _plan(matrix, chosen)
        return _run(matrix, chosen, fail_if_worse=options.fail_if == "worse")
    except InputError as error:
        return refuse("matrix", error)
    except OSError as error:
        return refuse("matrix", InputError("file", error.filename or "output", error.strerror or str(error)))


def _run(matrix: Matrix, chosen: Sequence[Configuration], *, fail_if_worse: bool) -> int:
    ended: dict[str, Ended] = {}
    live = Live(sys.stdout)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler)
    for number, configuration in enumerate(chosen, start=1):
        place = f"{number}/{len(chosen)} {configuration.label}"
        try:
            done = run(matrix, configuration, Path.cwd(), partial(_show, live, place))
        except KeyboardInterrupt:
            live.tell(f"{place}: interrupted; the same command goes on from here")
            return INTERRUPTED
        ended[configuration.label] = done
        live.tell(f"{place}: {_said(matrix, configuration, done)}")
    found = outcome(matrix, ended)
    print("", *found.lines, "", sep="\n")
    for path in write(matrix, found, ended):
        print(relative(path))
    return exit_code(found, ended, fail_if_worse=fail_if_worse)


def _show(live: Live, place: str, state: str) -> None:
    live.show(f"{place}: {state}")


def _said(matrix: Matrix, configuration: Configuration, done: Ended) -> str:
    took = clock(done.seconds)
    if done.why:
        return f"{done.why} ({took}; {relative(log_of(matrix, configuration))})"
    gates = {1: ", a gate failed or cells ended in errors", 10: ", a gate is inconclusive", 11: ", void"}
    return f"done in {took}{gates.get(done.code, '')}"


def _plan(matrix: Matrix, chosen: Sequence[Configuration]) -> int:
    """Print each configuration's command, and pytest's own plan of it."""
    code = 0
    for configuration in chosen:
        print(f"{configuration.label}: {shlex.join(command(matrix, configuration, Path.cwd()))}")
        done = run(matrix, configuration, Path.cwd(), lambda _state: None, "--plan", "-q", "-p", "no:cacheprovider")
        said = log_of(matrix, configuration).read_text(encoding="utf-8", errors="replace").splitlines()
        told = [line for line in takewhile(lambda line: not line.startswith("="), said) if line.strip()]
        told = [line for line in told if not line.startswith("no tests ran")]
        print(*(f"  {line}" for line in ([done.why] if done.why else told)), sep="\n")
        code = code or (INTERRUPTED if done.why else 0)
    return code


def _chosen(matrix: Matrix, only: Sequence[str]) -> tuple[Configuration, ...]:
    labels = [each.label for each in matrix.configurations]
    for label in only:
        if label not in labels:
            raise InputError("--only", label, f"the file has {', '.join(labels)}")
    return tuple(each for each in matrix.configurations if not only or each.label in only)


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework matrix",
        description="Run the configurations of a TOML file over the same cells, one after another, and compare each"
        " with the first. The same command goes on where it stopped.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.toml", help="options for all, and [[configuration]] entries")
    parser.add_argument("--plan", "--dry-run", action="store_true", help="tell what would be run, and run nothing")
    parser.add_argument(
        "--only", action="append", default=[], metavar="LABEL", help="run this configuration alone; all are compared"
    )
    parser.add_argument("--fail-if", choices=("worse",), help="exit with code 1 where a configuration is shown worse")
    return parser
