"""Which bugs do the tests catch? A random sample of mutants of each area, each run against the area's tests.

`pip install cosmic-ray==8.7.0`, then `python -m perf.mutation --sample 200` in a clean checkout: cosmic-ray changes one
operator, number or keyword of a module in place, runs the tests of its area until the first failure, and restores the
file. The same seed draws the same mutants as long as the modules stay the same.
"""

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TESTS = {
    "core": ("tests/core", "tests/haystack_fixtures", "tests/scoring"),
    "haystack_fixtures/haystacks": ("tests/haystack_fixtures/haystacks", "tests/haystack_fixtures/trials"),
    "haystack_fixtures/tasks": ("tests/haystack_fixtures/tasks",),
    "haystack_fixtures/configuration": ("tests/haystack_fixtures/configuration",),
    "models/served": ("tests/models/served", "tests/fuzz", "tests/faults"),
    "models/tokenizers": ("tests/models/tokenizers",),
    "scoring": ("tests/scoring",),
    "results/statistics": ("tests/results",),
    "results/gates": ("tests/results/gates",),
    "results/merge": ("tests/results/merge", "tests/plugin/running"),
    "results/records": ("tests/results/records",),
    "results/report": ("tests/results",),
}
"""Module path -> the tests of its area."""
_CONFIG = """
[cosmic-ray]
module-path = "{area}"
timeout = {timeout}
excluded-modules = []
test-command = "{command}"
[cosmic-ray.distributor]
name = "local"
"""


def main() -> int:
    """Run the sample, and print survivors and the share of mutants that were caught in each area."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="mutants in all areas together [200]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", choices=tuple(TESTS), action="append", help="only this area")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for the tests of one mutant [300]")
    options = parser.parse_args()
    areas = options.area or list(TESTS)
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
    from cosmic_ray.work_item import TestOutcome

    command = f"{sys.executable} -m pytest -x -q -n 0 -p no:cacheprovider -m 'not slow' {' '.join(TESTS[area])}"
    with TemporaryDirectory() as folder:
        config, session = Path(folder, "config.toml"), Path(folder, "session.sqlite")
        config.write_text(_CONFIG.format(area=area, timeout=timeout, command=command), encoding="utf-8")
        _cosmic_ray("init", config, session)
        with open_session(session) as database:
            # `X | None` in an annotation is never evaluated: such mutants change nothing.
            changing = [item for item in database.work_items if "BitOr" not in str(item.mutations)]
            items = sorted(changing, key=lambda item: str(item.mutations))
            sample = random.Random(f"{seed} {area}").sample(items, min(count, len(items)))
            database.clear()
            database.add_work_items(sample)
        _cosmic_ray("exec", config, session)
        with open_session(session) as database:
            for _, result in database.results:
                yield _changed_lines(result.diff) if result.test_outcome == TestOutcome.SURVIVED else ""


@contextmanager
def open_session(path: Path) -> Iterator[Any]:
    """Open the database of a cosmic-ray session."""
    from cosmic_ray.work_db import WorkDB, use_db

    with use_db(str(path), WorkDB.Mode.open) as database:
        yield database


def _cosmic_ray(command: str, config: Path, session: Path) -> None:
    subprocess.run([sys.executable, "-m", "cosmic_ray.cli", command, str(config), str(session)], check=True)


def _changed_lines(diff: str) -> str:
    lines = [line for line in diff.splitlines()[3:] if line.startswith(("+", "-"))]
    return " ".join(" ".join(line.split()) for line in lines)


if __name__ == "__main__":
    sys.exit(main())
