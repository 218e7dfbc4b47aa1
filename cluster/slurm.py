"""Slurm: job scripts, arrays, the queue."""

from __future__ import annotations

import getpass
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from needlework.cluster.plan import Plan
from needlework.core.errors import InputError
from needlework.core.files import write_whole

_CANCELLED = "CANCELLED"
_TIMEOUT_S = 30.0
_NOT_HERE = "is not here; launch on a machine that submits to Slurm"
_SIGNAL_BEFORE_LIMIT_S = 60  # a shard that nears its time limit writes its files and is queued again
_SQUEUE_FORMAT = "%F|%K|%T|%r"  # the array's job id, the task's number, its state, why it waits
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
class SlurmRequest:
    """Options of `sbatch`, each as it takes them; `None` is left to the cluster."""

    partition: str | None = None
    qos: str | None = None
    account: str | None = None
    time: str | None = None
    gpus: str | None = None
    cpus: int | None = None
    memory: str | None = None
    max_jobs: int | None = None  # most tasks of the array at once
    sbatch_options: tuple[str, ...] = ()  # any others, as `constraint=a100`


@dataclass(frozen=True)
class ArrayTask:
    """A task of an array, as `squeue` lists it."""

    job: int
    number: int
    state: str  # `running`, `waiting`, or Slurm's word for an end
    reason: str = ""

    @property
    def active(self) -> bool:
        return self.state in ("running", "waiting")


class SlurmArray:
    """Shards as tasks of a Slurm array. They go on without the launcher."""

    settle_s = 15.0  # a shared folder may show a shard's ending file later than Slurm shows its end

    def __init__(self, plan: Plan, request: SlurmRequest) -> None:
        self._plan, self._request, self._name = plan, request, job_name(plan)
        self._submitted: set[int] = set()
        self._has_answered = False
        self._tasks: dict[int, ArrayTask] = {}

    def start(self, shards: Sequence[int]) -> str:
        path = self._plan.launch_folder / "slurm.sh"
        write_whole(path, script(self._plan, self._request).encode())
        job = _submit([f"--array={array_spec(shards, self._request.max_jobs)}", str(path)])
        self._submitted.add(job)
        return f"Slurm's job {job}: {path}"

    def poll(self) -> Mapping[int, str] | None:
        tasks = _list_tasks(self._name)
        if tasks is None and not self._has_answered:
            raise InputError("launch slurm", "squeue", "Slurm does not answer; does `sinfo` here?")
        if tasks is None:
            return None
        self._has_answered = True
        self._tasks = latest_tasks(task for task in tasks if task.active or task.job in self._submitted)
        return {number: task.state for number, task in self._tasks.items() if task.active}

    def death_of(self, shard: int) -> tuple[str, bool]:
        """Return the state of a dead shard's job; final if the job was cancelled by hand."""
        state = self._tasks[shard].state if shard in self._tasks else "its job is gone"
        return state, state == _CANCELLED

    def waiting_reason(self) -> str:
        """Slurm's reason that a task waits, as `Resources`; empty if none does."""
        return next((task.reason for task in self._tasks.values() if task.state == "waiting"), "")

    def leave(self) -> str:
        return f"the jobs go on; the same command follows them, `scancel --name={self._name}` ends them"


def script(plan: Plan, request: SlurmRequest) -> str:
    """The job script. It holds no keys: `sbatch` passes on the environment of the user who submits."""
    options = {
        "job-name": job_name(plan),
        "array": array_spec(plan.numbers, request.max_jobs),
        "partition": request.partition,
        "qos": request.qos,
        "account": request.account,
        "time": request.time,
        "nodes": 1,
        "ntasks": 1,
        "gres": request.gpus and f"gpu:{request.gpus}",
        "cpus-per-task": request.cpus,
        "mem": request.memory,
        "chdir": plan.cwd,
        "output": plan.launch_folder / f"shard-%a-of-{plan.shards}.log",
        "open-mode": "append",
        "signal": f"B:USR1@{_SIGNAL_BEFORE_LIMIT_S}",
    }
    lines = [f"--{name}={shlex.quote(str(value))}" for name, value in options.items() if value is not None]
    lines += ["--requeue", *(shlex.quote(f"--{word.removeprefix('--')}") for word in request.sbatch_options)]
    start, _, end = shlex.join(plan.command("NUMBER/")).partition("NUMBER/")
    command = f'exec {start}"$SLURM_ARRAY_TASK_ID"/{plan.shards}{end}'
    return "\n".join(["#!/bin/bash", *(f"#SBATCH {line}" for line in lines), command, ""])


def job_name(plan: Plan) -> str:
    """The array's name, unique to the run folder: a later launcher finds the jobs by it."""
    return f"needlework-{plan.folder.name}-{sha256(str(plan.folder).encode()).hexdigest()[:8]}"


def array_spec(shards: Sequence[int], max_jobs: int | None) -> str:
    """`--array` for these shards: `1-8%4`, or `2,5`."""
    is_range = len(shards) == shards[-1] - shards[0] + 1
    numbers = f"{shards[0]}-{shards[-1]}" if is_range else ",".join(map(str, shards))
    return f"{numbers}%{max_jobs}" if max_jobs else numbers


def read_tasks(listing: str) -> list[ArrayTask]:
    """Read the output of `squeue`; lines that are no tasks of an array are left out."""
    tasks = []
    for line in listing.splitlines():
        job, number, state, reason = [*line.split("|", 3), "", "", ""][:4]
        if job.isdecimal() and number.isdecimal():
            kind = "waiting" if state in _WAITING else "running" if state in _RUNNING else state
            tasks.append(ArrayTask(int(job), int(number), kind, reason))
    return tasks


def latest_tasks(tasks: Iterable[ArrayTask]) -> dict[int, ArrayTask]:
    """Return each shard's active task, else that of the latest job."""
    return {task.number: task for task in sorted(tasks, key=lambda task: (task.active, task.job))}


def _list_tasks(name: str) -> list[ArrayTask] | None:
    """List all tasks of that name, ended ones too as long as Slurm knows them; `None` if it does not answer."""
    filters = ["--states=all", f"--user={getpass.getuser()}", f"--name={name}"]
    try:
        return read_tasks(_run(["squeue", "-h", "-r", *filters, "-o", _SQUEUE_FORMAT]))
    except FileNotFoundError:
        raise InputError("launch slurm", "squeue", _NOT_HERE) from None
    except (OSError, subprocess.SubprocessError):
        return None


def _submit(words: Sequence[str]) -> int:
    """Run `sbatch` and return the job's id. Raises `InputError` with Slurm's own line."""
    try:
        return int(_run(["sbatch", "--parsable", *words]).strip().partition(";")[0])
    except FileNotFoundError:
        raise InputError("launch slurm", "sbatch", _NOT_HERE) from None
    except (subprocess.SubprocessError, ValueError) as error:
        output = str(getattr(error, "stderr", None) or error)
        raise InputError("launch slurm", "sbatch", " ".join(output.replace("sbatch: error: ", "").split())) from None


def _run(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S).stdout
