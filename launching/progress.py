"""What a launcher prints: lines for what happens, one line that is renewed for where the run stands, then the merge.

What reads runs is loaded when there are shards to look at: the first of them would wait for it.
"""

from __future__ import annotations

import time
from pathlib import Path
from shutil import get_terminal_size
from typing import TextIO

from needlework import main
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.places import READ
from needlework.launching.shards.plan import Plan
from needlework.results.records.shard_file import SHARDS

_EVERY_S = 30.0  # where the output is no terminal
_AFRESH_S = 5.0


class Progress:
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
    from needlework.results.status.lines import clock
    from needlework.results.status.progress import left_of_all, progress_of_run

    try:
        found = progress_of_run(run, time.time())
    except InputError:  # no shard has written anything yet
        return "no trial yet"
    done, expected, errors = (sum(getattr(each, name) for each in found) for name in ("done", "expected", "errors"))
    told = [f"{done:,} of {expected:,} trials"]
    told += [f"{errors:,} errors"] if errors else []
    left = left_of_all(found)
    return ", ".join([*told, f"{clock(left)} left"] if left else told)
