"""One configuration as a child process: pytest with its options, its output in a log, a line while it runs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from needlework.autoload import asks_for_benchmarks
from needlework.haystack_fixtures.errors import InputError, printable
from needlework.haystack_fixtures.models.served.engines.child import last_lines
from needlework.haystack_fixtures.models.served.engines.keeper import die_with_parent
from needlework.launching.matrix.file import Configuration, Matrix
from needlework.results.status.lines import clock
from needlework.results.status.progress import left_of_all, progress_of_run

_LOOK_S, _AFRESH_S = 0.2, 2.0
_END_S = 120.0  # a run that is asked to end writes its files first


@dataclass(frozen=True, slots=True)
class Ended:
    """How a configuration's run ended: pytest's exit code, its time in seconds, and what its output said of an end
    before any cell; empty where there is nothing to say.
    """

    code: int
    seconds: float
    why: str = ""


def command(matrix: Matrix, configuration: Configuration, here: Path) -> list[str]:
    """The command line of a configuration's run."""
    own = list(matrix.pytest)
    named = any(word.partition("::")[0].endswith(".py") for word in own) or asks_for_benchmarks(
        own, "--pyargs" in own, here
    )
    words = own if named else ["--pyargs", "needlework.benchmarks", *own]
    where = [f"--results-dir={here / matrix.folder}", f"--run-name={configuration.folder}"]
    return [sys.executable, "-m", "pytest", "-p", "needlework.plugin", *words, *configuration.words, *where]


def run(matrix: Matrix, configuration: Configuration, here: Path, show: Callable[[str], None], *further: str) -> Ended:
    """Run it to its end, or until Ctrl-C, which it is told as a request to end; then `KeyboardInterrupt` is raised."""
    log = log_of(matrix, configuration)
    log.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command(matrix, configuration, here), *further],
            cwd=here,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, signal.SIGTERM) if sys.platform == "linux" else None,
        )
        try:
            code = _followed(process, matrix, configuration, log, show)
        except BaseException:
            process.terminate()
            with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                process.wait(_END_S)
            process.kill()
            process.wait()
            raise
    return Ended(code, time.monotonic() - begun, _why(log) if code in (2, 3, 4, 5) or code < 0 else "")


def log_of(matrix: Matrix, configuration: Configuration) -> Path:
    """What pytest printed."""
    return matrix.folder / "logs" / f"{configuration.folder}.txt"


def _followed(
    process: subprocess.Popen[bytes],
    matrix: Matrix,
    configuration: Configuration,
    log: Path,
    show: Callable[[str], None],
) -> int:
    looked, told = float("-inf"), ""
    while True:
        code = process.poll()
        if code is not None:
            return code
        if time.monotonic() - looked >= _AFRESH_S:
            looked = time.monotonic()
            told = _state(matrix.folder / configuration.folder, log)
        show(told)
        time.sleep(_LOOK_S)


def _state(run_folder: Path, log: Path) -> str:
    """`14 of 36 trials, 0:40 left`, or the last line that pytest printed while there is no trial yet."""
    with suppress(InputError, OSError):
        found = progress_of_run(run_folder, time.time())
        done, expected = (sum(getattr(each, name) for each in found) for name in ("done", "expected"))
        left = left_of_all(found)
        if done:
            return f"{done:,} of {expected:,} trials{f', {clock(left)} left' if left else ''}"
    return next(iter(last_lines(log, 1)), "")


def _why(log: Path) -> str:
    """The line of pytest's output that says why it ended."""
    lines = last_lines(log, 40)
    wrong = [line for line in lines if "rror: " in line or line.startswith(("ERROR: -", "E ", "! "))]
    return printable(next(reversed(wrong or lines), ""), 300).strip("! ")
