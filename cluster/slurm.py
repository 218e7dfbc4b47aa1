"""Slurm: job scripts, arrays, the queue."""

from __future__ import annotations

import getpass
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from needlework.cluster.shards import Plan
from needlework.core.errors import InputError
from needlework.core.files import write_whole

_BY_HAND = "CANCELLED"


class SlurmArray:
    """Shards as tasks of Slurm. They go on without the launcher."""

    settle_s = 15.0  # the file that a shard writes at its end may be seen later than the end, on a shared folder

    def __init__(self, plan: Plan, wanted: SlurmRequest) -> None:
        self._plan, self._wanted, self._name = plan, wanted, job_name(plan)
        self._mine: set[int] = set()
        self._answered = False
        self._tasks: dict[int, ArrayTask] = {}

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


_PATIENCE_S = 30.0
_NOT_HERE = "is not here; launch on a machine that submits to Slurm"
_FORMAT = "%F|%K|%T|%r"  # the array's job id, the task's number, its state, why it waits
_WAITING = {
    "PENDING",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "SPECIAL_EXIT",
    "SUSPENDED",
    "STOPPED",
    "RESV_DEL_HOLD",
}
_RUNNING = {"RUNNING", "CONFIGURING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING"}


@dataclass(frozen=True)
class ArrayTask:
    """A task of an array, as `squeue` has it. `state`: `running`, `waiting`, or Slurm's own word for an end."""

    job: int
    number: int
    state: str
    reason: str = ""

    @property
    def alive(self) -> bool:
        return self.state in ("running", "waiting")


def tasks_in(listing: str) -> list[ArrayTask]:
    """Read what `squeue` printed; lines that are none of ours are left out."""
    tasks = []
    for line in listing.splitlines():
        job, number, state, reason = [*line.split("|", 3), "", "", ""][:4]
        if job.isdecimal() and number.isdecimal():
            kind = "waiting" if state in _WAITING else "running" if state in _RUNNING else state
            tasks.append(ArrayTask(int(job), int(number), kind, reason))
    return tasks


def latest(tasks: Iterable[ArrayTask]) -> dict[int, ArrayTask]:
    """Return each shard's task: one that is not at an end, else that of the latest job."""
    found: dict[int, ArrayTask] = {}
    for task in sorted(tasks, key=lambda task: (task.alive, task.job)):
        found[task.number] = task
    return found


def tasks_named(name: str) -> list[ArrayTask] | None:
    """Ask for all tasks of that name, those at an end too, as long as Slurm knows them. `None`: it did not answer."""
    command = ["squeue", "-h", "-r", "--states=all", f"--user={getpass.getuser()}", f"--name={name}", "-o", _FORMAT]
    try:
        return tasks_in(_said(command))
    except FileNotFoundError:
        raise InputError("launch slurm", "squeue", _NOT_HERE) from None
    except (OSError, subprocess.SubprocessError):
        return None


def submit(words: Sequence[str]) -> int:
    """Run `sbatch` and return the job's id. Raises `InputError`, with Slurm's own line."""
    try:
        return int(_said(["sbatch", "--parsable", *words]).strip().partition(";")[0])
    except FileNotFoundError:
        raise InputError("launch slurm", "sbatch", _NOT_HERE) from None
    except (subprocess.SubprocessError, ValueError) as error:
        raise InputError("launch slurm", "sbatch", _told(error)) from None


def cancel_command(name: str) -> str:
    return f"scancel --name={name}"


def _said(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_PATIENCE_S).stdout


def _told(error: Exception) -> str:
    said = getattr(error, "stderr", None) or str(error)
    return " ".join(str(said).replace("sbatch: error: ", "").split())


_BEFORE_LIMIT_S = 60  # the shard is told that its time ends, writes its files and is queued again


@dataclass(frozen=True)
class SlurmRequest:
    """What is asked of Slurm, each as `sbatch` takes it; `None` is left to the cluster.

    `jobs`: most tasks of the array at once. `further`: options of `sbatch` that we do not name, as `constraint=a100`.
    """

    partition: str | None = None
    qos: str | None = None
    account: str | None = None
    time: str | None = None
    gpus: str | None = None
    cpus: int | None = None
    memory: str | None = None
    jobs: int | None = None
    further: tuple[str, ...] = ()


def job_name(plan: Plan) -> str:
    """The array's name. It is the run folder's own, so a launcher that comes later finds the jobs by it."""
    return f"needlework-{plan.folder.name}-{sha256(str(plan.folder).encode()).hexdigest()[:8]}"


def array_of(shards: range | list[int], jobs: int | None) -> str:
    """`--array` for these shards: `1-8%4`, or `2,5`."""
    numbers = f"{shards[0]}-{shards[-1]}" if len(shards) == shards[-1] - shards[0] + 1 else ",".join(map(str, shards))
    return f"{numbers}%{jobs}" if jobs else numbers


def script(plan: Plan, wanted: SlurmRequest) -> str:
    """The script's text. Keys are nowhere in it: `sbatch` hands on the environment of whoever submits."""
    options = {
        "job-name": job_name(plan),
        "array": array_of(plan.numbers, wanted.jobs),
        "partition": wanted.partition,
        "qos": wanted.qos,
        "account": wanted.account,
        "time": wanted.time,
        "nodes": 1,
        "ntasks": 1,
        "gres": wanted.gpus and f"gpu:{wanted.gpus}",
        "cpus-per-task": wanted.cpus,
        "mem": wanted.memory,
        "chdir": plan.here,
        "output": plan.notes / f"shard-%a-of-{plan.shards}.log",
        "open-mode": "append",
        "signal": f"B:USR1@{_BEFORE_LIMIT_S}",
    }
    lines = [f"--{name}={shlex.quote(str(value))}" for name, value in options.items() if value is not None]
    lines += ["--requeue", *(shlex.quote(f"--{word.removeprefix('--')}") for word in wanted.further)]
    start, _, end = shlex.join(plan.command("NUMBER/")).partition("NUMBER/")
    command = f'exec {start}"$SLURM_ARRAY_TASK_ID"/{plan.shards}{end}'
    return "\n".join(["#!/bin/bash", *(f"#SBATCH {line}" for line in lines), command, ""])
