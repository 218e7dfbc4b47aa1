"""Mutation testing: the share of random small bugs of the core folders that the quick tests catch.

`pip install cosmic-ray==8.7.0`, then in a clean checkout `pytest -n 2 -m "not slow" --cov --cov-context=test`, which
records the tests of each line, and `python -m perf.mutation --sample 200`. Each mutant changes one operator, number or
keyword of a module in place; the tests that run its line are run until the first failure, and the file is restored.
The same seed draws the same mutants as long as the modules stay the same.
"""

import argparse
import ast
import random
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

AREAS = (
    "core",
    "haystack_fixtures/haystacks",
    "haystack_fixtures/tasks",
    "haystack_fixtures/configuration",
    "models/served",
    "models/tokenizers",
    "scoring",
    "results/statistics",
    "results/gates",
    "results/merge",
    "results/records",
    "results/report",
)
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--snapshot-warn-unused")
_COVERAGE = ".coverage"
_CONTEXTS = (
    "select distinct context from line_bits join context on context_id = context.id join file on file_id = file.id"
)
_MOST_TESTS = 300  # of one mutant: those that run few other lines


def main() -> int:
    """Run the sample, and print survivors and the share of mutants that were caught in each area."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="mutants in all areas together [200]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", choices=AREAS, action="append", help="only this area")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for the tests of one mutant [300]")
    options = parser.parse_args()
    areas = options.area or AREAS
    caught = total = 0
    for index, area in enumerate(areas):
        count = options.sample // len(areas) + (index < options.sample % len(areas))
        outcomes = list(run_area(area, count, options.seed, options.timeout))
        killed = sum(survivor == "" for survivor in outcomes)
        print(f"{area}: {killed} of {len(outcomes)} caught", *filter(None, outcomes), sep="\n  ", flush=True)
        caught, total = caught + killed, total + len(outcomes)
    print(f"all: {caught} of {total} caught")
    return 0


def run_area(area: str, count: int, seed: int, timeout: int) -> Iterator[str]:
    """Run `count` random mutants of an area; yield empty for a caught one, a survivor's changes."""
    from cosmic_ray.commands.init import init
    from cosmic_ray.modules import find_modules
    from cosmic_ray.mutating import mutate_and_test
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import TestOutcome

    with TemporaryDirectory() as folder:
        with use_db(str(Path(folder, "session.sqlite")), WorkDB.Mode.create) as database:
            init(find_modules([Path(area)]), database, {})
            items = sorted((item for item in database.work_items if _can_be_seen(item.mutations[0])), key=_location)
        chosen = random.Random(f"{seed} {area}").sample(items, min(count, len(items)))
        names = Path(folder, "tests.txt")
        for item in chosen:
            names.write_text("\n".join(tests_of(item.mutations[0])), encoding="utf-8")
            # A mutant that takes all memory is ended, not the machine.
            tests = f"ulimit -v 12000000; exec {shlex.join((*_PYTEST, '-x', f'@{names}'))}"
            command = shlex.join(("bash", "-c", tests))
            result = mutate_and_test(item.mutations, command, timeout)
            yield _changed_lines(result.diff) if result.test_outcome == TestOutcome.SURVIVED else ""


def _location(item: Any) -> str:
    return str(item.mutations)


def _can_be_seen(mutation: Any) -> bool:
    """Whether a mutant can change results: `X | None` in an annotation is never evaluated, and `slots` saves memory."""
    line = mutation.module_path.read_text(encoding="utf-8").splitlines()[mutation.start_pos[0] - 1]
    return "BitOr" not in mutation.operator_name and not line.startswith("@dataclass")


def tests_of(mutation: Any) -> list[str]:
    """The quick tests that run the mutated statement; of one that runs at import, those that run its module."""
    from coverage.numbits import register_sqlite_functions

    lines = {mutation.start_pos[0]}
    for node in ast.walk(ast.parse(mutation.module_path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.stmt) or any(isinstance(each, ast.stmt) for each in ast.iter_child_nodes(node)):
            continue  # a block: each of its statements is looked at by itself
        if node.lineno <= mutation.start_pos[0] <= (node.end_lineno or 0):
            lines |= set(range(node.lineno, (node.end_lineno or 0) + 1))  # of several lines perhaps
    path, of_module = str(mutation.module_path.resolve()), f"{_CONTEXTS} where path = ? and context != ''"
    with closing(sqlite3.connect(_COVERAGE)) as database:
        register_sqlite_functions(database)
        query = f"{of_module} and num_in_numbits(?, numbits)"
        names = {name for line in lines for (name,) in database.execute(query, (path, line))}
        names = names or {name for (name,) in database.execute(of_module, (path,))}
    breadth = _breadth()
    tests = dict.fromkeys(name.rpartition("|")[0] for name in sorted(names, key=lambda name: (breadth[name], name)))
    return [test for test in tests if test in _collected()][:_MOST_TESTS] or [f"tests/{mutation.module_path.parts[0]}"]


@cache
def _collected() -> frozenset[str]:
    """The tests of today: pytest would take one that is gone for a failure."""
    listed = subprocess.run((*_PYTEST, "--collect-only"), capture_output=True, text=True, check=True)
    return frozenset(listed.stdout.splitlines())


@cache
def _breadth() -> dict[str, int]:
    """About how many lines each test runs: a test of one function fails sooner than a whole run."""
    query = "select context, sum(length(numbits)) from line_bits join context on context_id = context.id group by 1"
    with closing(sqlite3.connect(_COVERAGE)) as database:
        return dict(database.execute(query))


def _changed_lines(diff: str) -> str:
    lines = [line for line in diff.splitlines()[3:] if line.startswith(("+", "-"))]
    return " ".join(" ".join(line.split()) for line in lines)


if __name__ == "__main__":
    sys.exit(main())
