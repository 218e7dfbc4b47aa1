"""Shards as processes of this machine: one for each card, or as many as are asked for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from needlework.haystack_fixtures.workers.devices import Gpus
from needlework.launching.shards.plan import Plan

_GRACE_S = 60.0


@dataclass
class LocalProcesses:
    """`places`: what each of the processes that run at once has in addition in its environment."""

    plan: Plan
    places: Sequence[Mapping[str, str]]
    settle_s: float = 0.0
    _queue: list[int] = field(default_factory=list)
    _running: dict[int, tuple[int, subprocess.Popen[bytes]]] = field(default_factory=dict)
    _codes: dict[int, int] = field(default_factory=dict)

    def start(self, shards: Sequence[int]) -> str:
        self._queue += shards
        self._fill()
        return ""

    def look(self) -> Mapping[int, str]:
        for number, (_, process) in list(self._running.items()):
            code = process.poll()
            if code is not None:
                self._codes[number] = code
                del self._running[number]
        self._fill()
        return {**dict.fromkeys(self._queue, "waiting"), **dict.fromkeys(self._running, "running")}

    def _fill(self) -> None:
        free = [i for i in range(len(self.places)) if i not in {place for place, _ in self._running.values()}]
        for place in free[: len(self._queue)]:
            number = self._queue.pop(0)
            environment = {**os.environ, **self.places[place]}
            command = self.plan.command(f"{number}/{self.plan.shards}")
            with self.plan.log(number).open("ab") as log:
                process = subprocess.Popen(
                    command,
                    cwd=self.plan.here,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            self._running[number] = (place, process)

    def why(self, shard: int) -> tuple[str, bool]:
        code = self._codes.get(shard, 0)
        return (f"signal {-code}" if code < 0 else f"exit code {code}"), False

    def waits_for(self) -> str:
        return ""

    def leave(self) -> str:
        """Stop the processes; each writes its files first."""
        self._queue.clear()
        for _, process in self._running.values():
            process.terminate()
        for _, process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
        return "the shards were stopped; the same command goes on"


def places(cards: Gpus, each: int, jobs: int | None, cores: int) -> list[dict[str, str]]:
    """Return the environment of each process that runs at once: `each` cards, or a share of the cores.

    Without cards, as many processes as cores; libraries that count the cores themselves are told their share.
    """
    if cards.names and each:
        groups = [",".join(cards.names[i : i + each]) for i in range(0, len(cards.names) - each + 1, each)]
        return [{cards.variable: group} for group in groups[:jobs]]
    count = jobs or cores
    return [{"OMP_NUM_THREADS": str(max(1, cores // count))} for _ in range(count)]
