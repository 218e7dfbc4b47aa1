"""The array of a run: submitted, looked at, submitted again for shards whose job died."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.launching.shards.plan import Plan
from needlework.launching.slurm.queue import Task, cancel_command, latest, submit, tasks_named
from needlework.launching.slurm.script import Wanted, array_of, job_name, script

_BY_HAND = "CANCELLED"


class SlurmArray:
    """Shards as tasks of Slurm. They go on without the launcher."""

    settle_s = 15.0  # the file that a shard writes at its end may be seen later than the end, on a shared folder

    def __init__(self, plan: Plan, wanted: Wanted) -> None:
        self._plan, self._wanted, self._name = plan, wanted, job_name(plan)
        self._mine: set[int] = set()
        self._answered = False
        self._tasks: dict[int, Task] = {}

    def start(self, shards: Sequence[int]) -> str:
        """Submit these shards, and return what to tell of it."""
        path = self._plan.notes / "slurm.sh"
        write_whole(path, script(self._plan, self._wanted).encode())
        job = submit([f"--array={array_of(list(shards), self._wanted.jobs)}", str(path)])
        self._mine.add(job)
        return f"Slurm's job {job}: {path}"

    def look(self) -> Mapping[int, str] | None:
        tasks = tasks_named(self._name)
        if tasks is None and not self._answered:
            raise InputError("launch slurm", "squeue", "Slurm does not answer; does `sinfo` here?")
        if tasks is None:
            return None
        self._answered = True
        self._tasks = latest(task for task in tasks if task.alive or task.job in self._mine)
        return {number: task.state for number, task in self._tasks.items() if task.alive}

    def why(self, shard: int) -> tuple[str, bool]:
        """Why a shard's job ended without a word, and whether that is final: cancelled by hand."""
        state = self._tasks[shard].state if shard in self._tasks else "its job is gone"
        return state, state == _BY_HAND

    def waits_for(self) -> str:
        """Slurm's reason that a task waits, `Resources` as an example; empty when none does."""
        return next((task.reason for task in self._tasks.values() if task.state == "waiting"), "")

    def leave(self) -> str:
        return f"the jobs go on; the same command follows them, `{cancel_command(self._name)}` ends them"
