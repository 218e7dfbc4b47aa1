"""Timing of several arms against each other on a machine that may be busy."""

import gc
import os
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
"""As a user has it: Hypothesis, which comes with a plugin, is a developer's."""


def users_environment() -> dict[str, str]:
    """The environment without this shell's settings of Python.
    `PYTHONDONTWRITEBYTECODE` makes pytest rewrite every test file, and every plugin, again in each process."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def cpu_seconds(arms: Mapping[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Median CPU seconds of each arm in this process; arms take turns, so that load hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(rounds):
        for name, arm in arms.items():
            gc.collect()
            begun = time.process_time()
            arm()
            taken[name].append(time.process_time() - begun)
    return {name: median(times) for name, times in taken.items()}


def child_cpu_seconds(command: Sequence[str], **options: object) -> tuple[float, str]:
    """CPU seconds (user and system) of a whole process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True, **options)  # type: ignore[call-overload]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout
