"""How a launch goes on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Protocol, TextIO

from needlework import main
from needlework.cluster.shards import Plan, error_line
from needlework.core.errors import InputError
from needlework.core.settings import READ
from needlework.results.records.run_folder import SHARDS

# What reads runs is loaded when there are shards to look at: the first of them would wait for it.
_EVERY_S = 30.0  # where the output is no terminal
_AFRESH_S = 5.0


class ShardProgress:
    """Prints to `out`. On a terminal the state is one line that is written over; in a log it comes every 30 seconds."""

    def __init__(self, plan: Plan, out: TextIO) -> None:
        self._plan, self._out = plan, out
        self._terminal = out.isatty()
        self._said, self._shown = "", float("-inf")
        self._told, self._next = "", float("-inf")

    def tell(self, text: str) -> None:
        """Print a line of its own."""
        if text:
            self._print(f"\r\x1b[K{text}\n" if self._terminal else f"{text}\n")

    def show(self, state: str) -> None:
        """Print where the run stands."""
        if self._terminal:
            line = f"{self._cells()}; {state}"
            self._print(f"\r\x1b[K{line[: get_terminal_size().columns - 1]}")
        elif time.monotonic() - self._shown >= _EVERY_S:
            line = f"{self._cells()}; {state}"
            if line != self._said:
                self._print(f"{line}\n")
            self._said, self._shown = line, time.monotonic()

    def _cells(self) -> str:
        """How many trials are done, and when all will be; journals are read for it, so not each time."""
        now = time.monotonic()
        if now >= self._next:
            self._told = _done(self._plan.folder)
            took = time.monotonic() - now
            self._next = now + max(_AFRESH_S, 20 * took)
        return self._told

    def merged(self) -> int:
        """Merge the shards, judge the gates, and return their exit code."""
        from needlework.results.merge.command import MISSING

        if not (self._plan.folder / SHARDS).exists():
            self.tell("no shard has written anything")
            return MISSING
        self.tell(f"needlework merge {self._plan.folder}")
        # The shards ran with this user's own words: what these name may be read.
        return main(["merge", str(self._plan.folder), READ, self._plan.here.anchor])

    def _print(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _done(run: Path) -> str:
    from needlework.results.merge.status import clock, left_of_all, progress_of_run

    try:
        found = progress_of_run(run, time.time())
    except InputError:  # no shard has written anything yet
        return "no trial yet"
    done, expected, errors = (sum(getattr(each, name) for each in found) for name in ("done", "expected", "errors"))
    told = [f"{done:,} of {expected:,} trials"]
    told += [f"{errors:,} errors"] if errors else []
    left = left_of_all(found)
    return ", ".join([*told, f"{clock(left)} left"] if left else told)


class ShardStarter(Protocol):
    """What starts shards. `settle_s`: how long after its job an ending may still come to be seen, in seconds."""

    settle_s: float

    def start(self, shards: Sequence[int]) -> str:
        """Start these shards, or have them wait their turn; return a line to tell, or nothing."""

    def look(self) -> Mapping[int, str] | None:
        """Return `running` or `waiting` for each shard that has not ended; `None` where that cannot be told now."""

    def why(self, shard: int) -> tuple[str, bool]:
        """Why a shard ended without leaving an ending, and whether it is not to be started again."""

    def waits_for(self) -> str:
        """What waiting shards wait for, where that is known."""

    def leave(self) -> str:
        """The launcher goes: end what cannot go on without it, and return a line to tell."""


def follow(
    plan: Plan, engine: ShardStarter, told: Callable[[str], None], show: Callable[[str], None], pause_s: float
) -> None:
    """Start the shards that are neither done nor on their way, and return when all have ended.

    `told` gets what happens, `show` the state every `pause_s` seconds. A shard whose job ends without leaving an ending
    is started again, `plan.retries` times at most. The files are the truth: a launcher that comes later goes on.
    """
    starts: Counter[int] = Counter()
    silent: dict[int, float] = {}
    given_up: set[int] = set()
    first = True
    while True:
        alive = engine.look()
        if alive is None:
            show("the scheduler does not answer")
            time.sleep(pause_s)
            continue
        if first:
            silent_now = missing(plan, alive, told)
            starts.update(alive)
            first = False
        else:
            silent_now = [n for n in plan.numbers if n not in alive and n not in given_up and plan.ending(n) is None]
        if silent_now:
            again = _silent_long(silent_now, silent, starts, engine.settle_s)
            for number in [n for n in again if starts[n]]:
                why, final = engine.why(number)
                if final or starts[number] > plan.retries:
                    given_up.add(number)
                    told(f"shard {number} ended without a word ({why}), given up; its log: {plan.log(number)}")
                else:
                    told(f"shard {number} ended without a word ({why}), tried again")
            start = [n for n in again if n not in given_up]
            if start:
                starts.update(start)
                told(engine.start(start))
                continue
        elif not alive:
            _tell_failed(plan, told)
            return
        show(_state(plan, alive, engine.waits_for()))
        time.sleep(pause_s)


def missing(plan: Plan, alive: Mapping[int, str], told: Callable[[str], None]) -> list[int]:
    """The shards to start now: those that are done with these words, without an error, are not asked again."""
    endings = {number: plan.ending(number) for number in plan.numbers}
    done = [
        n for n, each in endings.items() if n not in alive and each and each.exit == 0 and each.digest == plan.digest
    ]
    start = [n for n in plan.numbers if n not in alive and n not in done]
    plan.drop_endings(start)
    if done or alive:
        told(f"{len(done)} of {plan.shards} shards are done, {len(alive)} are on their way, {len(start)} are started")
    return start


def _tell_failed(plan: Plan, told: Callable[[str], None]) -> None:
    """One line for all shards that failed in the same way."""
    failed: dict[str, list[int]] = {}
    for number in plan.numbers:
        ending = plan.ending(number)
        if ending and not ending.done:
            why = ending.why or error_line(_text(plan.log(number))) or f"pytest ended with {ending.exit}"
            failed.setdefault(why, []).append(number)
    for why, numbers in failed.items():
        named = f"shard {numbers[0]}" if len(numbers) == 1 else f"shards {', '.join(map(str, numbers))}"
        told(f"{named} failed: {why}; its log: {plan.log(numbers[0])}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _silent_long(ended: Sequence[int], silent: dict[int, float], starts: Counter[int], settle_s: float) -> list[int]:
    """Those that never were started, and those whose job has been gone for a while."""
    now = time.monotonic()
    for number in set(silent) - set(ended):
        del silent[number]
    for number in ended:
        silent.setdefault(number, now if starts[number] else -settle_s)
    ready = [n for n in ended if now - silent[n] >= settle_s]
    for number in ready:
        del silent[number]
    return ready


def _state(plan: Plan, alive: Mapping[int, str], reason: str) -> str:
    counts = Counter(alive.values())
    ended = sum(number not in alive and plan.ending(number) is not None for number in plan.numbers)
    waiting = f", {counts['waiting']} waiting{f' ({reason})' if reason and reason != 'None' else ''}"
    return f"{ended} of {plan.shards} shards ended, {counts['running']} running{waiting if counts['waiting'] else ''}"
