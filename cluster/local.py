"""Shards as processes of this machine, one for each card or core."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from needlework.cluster.plan import Plan
from needlework.core.devices import Gpus

_STOP_S = 60.0  # a stopped shard writes its files first


class LocalProcesses:
    """Runs shards as child processes; each that runs at once has one of `environments` added to its own."""

    settle_s = 0.0

    def __init__(self, plan: Plan, environments: Sequence[Mapping[str, str]]) -> None:
        self._plan, self._environments = plan, environments
        self._queue: list[int] = []
        self._running: dict[int, tuple[int, subprocess.Popen[bytes]]] = {}  # shard -> (environment's index, process)
        self._exit_codes: dict[int, int] = {}

    def start(self, shards: Sequence[int]) -> str:
        self._queue += shards
        self._start_queued()
        return ""

    def poll(self) -> Mapping[int, str]:
        for number, (_, process) in list(self._running.items()):
            code = process.poll()
            if code is not None:
                self._exit_codes[number] = code
                del self._running[number]
        self._start_queued()
        return {**dict.fromkeys(self._queue, "waiting"), **dict.fromkeys(self._running, "running")}

    def _start_queued(self) -> None:
        used = {index for index, _ in self._running.values()}
        free = [index for index in range(len(self._environments)) if index not in used]
        for index in free[: len(self._queue)]:
            number = self._queue.pop(0)
            with self._plan.log(number).open("ab") as log:
                process = subprocess.Popen(
                    self._plan.command(f"{number}/{self._plan.shards}"),
                    cwd=self._plan.cwd,
                    env={**os.environ, **self._environments[index]},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            self._running[number] = (index, process)

    def death_of(self, shard: int) -> tuple[str, bool]:
        code = self._exit_codes.get(shard, 0)
        return (f"signal {-code}" if code < 0 else f"exit code {code}"), False

    def leave(self) -> str:
        """Stop the processes; each writes its files first."""
        self._queue.clear()
        for _, process in self._running.values():
            process.terminate()
        for _, process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
        return "the shards were stopped; the same command goes on"


def process_environments(cards: Gpus, cards_each: int, jobs: int | None, cores: int) -> list[dict[str, str]]:
    """Return the environment variables of each process that runs at once: `cards_each` cards, or a share of the cores.

    Without cards there are as many processes as cores; libraries that count the cores themselves get their share.
    """
    if cards.names and cards_each:
        starts = range(0, len(cards.names) - cards_each + 1, cards_each)
        return [{cards.variable: ",".join(cards.names[i : i + cards_each])} for i in starts][:jobs]
    count = jobs or cores
    return [{"OMP_NUM_THREADS": str(max(1, cores // count))} for _ in range(count)]
