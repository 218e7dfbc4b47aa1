"""Following a launch: starts shards, restarts dead ones, shows the progress of the run."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Protocol, TextIO

from needlework.cluster.plan import Plan, error_line
from needlework.core.errors import InputError
from needlework.results.style import clock

_LOG_INTERVAL_S = 30.0


class Scheduler(Protocol):
    """Runs shards. `settle_s`: seconds from a job's end until its ending file is visible."""

    settle_s: float

    def start(self, shards: Sequence[int]) -> str:
        """Start or queue these shards; return a message, or an empty text."""

    def poll(self) -> Mapping[int, str] | None:
        """Return `running` or `waiting (REASON)` for each shard that has not ended.
        `None` if the scheduler does not answer."""

    def death_of(self, shard: int) -> tuple[str, bool]:
        """Return why a shard ended without an ending file, and whether it must not be started again."""

    def leave(self) -> str:
        """Stop shards that cannot go on without the launcher; return a message."""


def follow(
    plan: Plan, engine: Scheduler, message: Callable[[str], None], show: Callable[[str], None], pause_s: float
) -> None:
    """Start the shards that are neither done nor running, and return when all have ended.

    `message` gets events, `show` the status every `pause_s` seconds. A shard whose job ends without an ending file is
    started again, at most `plan.retries` times. The state is in the files: a later launcher continues from them.
    """
    starts: Counter[int] = Counter()
    dead_since: dict[int, float] = {}
    given_up: set[int] = set()
    restart: list[int] | None = None
    while True:
        active = engine.poll()
        if active is None:
            show("the scheduler does not answer")
            time.sleep(pause_s)
            continue
        dead = [n for n in plan.numbers if n not in active and n not in given_up and plan.ending(n) is None]
        if restart is None:
            restart = shards_to_start(plan, active, message)
            starts.update(active)
        elif not dead and not active:
            _report_failures(plan, message)
            return
        else:
            now = time.monotonic()
            dead_since = {number: dead_since.get(number, now) for number in dead}
            restart = []
            for number in [number for number in dead if now - dead_since[number] >= engine.settle_s]:
                reason, is_final = engine.death_of(number)
                if is_final or starts[number] > plan.retries:
                    given_up.add(number)
                    end = f"given up; its log: {plan.log(number)}"
                else:
                    restart.append(number)
                    end = "tried again"
                message(f"shard {number} ended without a word ({reason}), {end}")
        if restart:
            starts.update(restart)
            message(engine.start(restart))
            continue
        running = sum(state == "running" for state in active.values())
        waiting = [state for state in active.values() if state != "running"]
        ended = sum(number not in active and plan.ending(number) is not None for number in plan.numbers)
        queue = f", {len(waiting)} {max(waiting, key=len)}" if waiting else ""
        show(f"{ended} of {plan.shards} shards ended, {running} running{queue}")
        time.sleep(pause_s)


def shards_to_start(plan: Plan, active: Mapping[int, str], message: Callable[[str], None]) -> list[int]:
    """Return the shards to start now: those that neither run nor ended without an error."""
    endings = {number: plan.ending(number) for number in plan.numbers if number not in active}
    start = [number for number, ending in endings.items() if not ending or ending.exit]
    plan.remove_endings(start)
    done = len(endings) - len(start)
    if done or active:
        counts = f"{len(active)} are queued or running, {len(start)} are started"
        message(f"{done} of {plan.shards} shards are done, {counts}")
    return start


def trials_status(run: Path) -> str:
    """Describe how many trials are done: `14 of 36 trials, 0:40 left`; empty while there are no files."""
    from needlework.results.merge.parts import progress_of_run, total_of  # loaded when needed

    try:
        total = total_of(progress_of_run(run, time.time()))
    except (InputError, OSError):
        return ""
    errors = f", {total.errors:,} errors" if total.errors else ""
    left = f", {clock(total.left_s)} left" if total.left_s else ""
    return f"{total.done:,} of {total.expected:,} trials{errors}{left}"


def _report_failures(plan: Plan, message: Callable[[str], None]) -> None:
    """Report failed shards, in one line for those with the same error."""
    shards_by_error: dict[str, list[int]] = {}
    for number in plan.numbers:
        ending = plan.ending(number)
        if ending and not ending.done:
            log = plan.log(number)
            output = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
            error = ending.why or error_line(output) or f"pytest ended with {ending.exit}"
            shards_by_error.setdefault(error, []).append(number)
    for error, numbers in shards_by_error.items():
        label = f"shard {numbers[0]}" if len(numbers) == 1 else f"shards {', '.join(map(str, numbers))}"
        message(f"{label} failed: {error}; its log: {plan.log(numbers[0])}")


class StatusLine:
    """Prints messages and a status to `out`: overwritten on a terminal, once in 30 s in a log."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._last_status = ""
        self._printed_at = float("-inf")

    def message(self, text: str) -> None:
        """Print a line of its own; an empty text prints nothing."""
        if text:
            self._write(f"\r\x1b[K{text}\n" if self._is_terminal else f"{text}\n")

    def update(self, status: str) -> None:
        """Show the current status; a log gets it only if it has changed."""
        if self._is_terminal:
            self._write(f"\r\x1b[K{status[: get_terminal_size().columns - 1]}")
        elif time.monotonic() - self._printed_at >= _LOG_INTERVAL_S:
            if status != self._last_status:
                self._write(f"{status}\n")
            self._last_status, self._printed_at = status, time.monotonic()

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
