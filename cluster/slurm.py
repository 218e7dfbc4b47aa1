"""Slurm: job scripts, arrays, the queue."""

import argparse
import getpass
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from needlework.cluster.plan import Plan
from needlework.core.errors import InputError
from needlework.core.files import write_whole

_TIMEOUT_S = 30.0
_SIGNAL_BEFORE_LIMIT_S = 60  # a shard that nears its time limit writes its files and is queued again
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "SUSPENDED", "STOPPED",
            "RESV_DEL_HOLD")  # fmt: skip
_RUNNING = ("RUNNING", "CONFIGURING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING")


class ArrayTask(NamedTuple):
    """A task of an array. `state`: `running`, `waiting (REASON)`, or Slurm's word for an end."""

    job: int
    number: int
    state: str

    @property
    def active(self) -> bool:
        """Whether it has not ended."""
        return self.state.startswith(("running", "waiting"))


class SlurmArray:
    """Shards as tasks of a Slurm array. They go on without the launcher."""

    settle_s = 15.0  # a shared folder may show a shard's ending file later than Slurm shows its end

    def __init__(self, plan: Plan, options: argparse.Namespace) -> None:
        self._plan, self._options, self._name = plan, options, job_name(plan)
        self._submitted: set[int] = set()
        self._has_answered = False
        self._tasks: dict[int, ArrayTask] = {}

    def start(self, shards: Sequence[int]) -> str:
        path = self._plan.launch_folder / "slurm.sh"
        write_whole(path, script(self._plan, self._options).encode())
        try:
            job = int(_run("sbatch", "--parsable", f"--array={_array(shards, self._options)}", str(path)).split(";")[0])
        except (subprocess.SubprocessError, ValueError) as error:
            output = str(getattr(error, "stderr", None) or error).replace("sbatch: error: ", "")
            raise InputError("launch slurm", "sbatch", " ".join(output.split())) from None
        self._submitted.add(job)
        return f"Slurm's job {job}: {path}"

    def poll(self) -> Mapping[int, str] | None:
        # All tasks of that name, ended ones too as long as Slurm knows them: job, task's number, state, reason.
        filters = ["--states=all", f"--user={getpass.getuser()}", f"--name={self._name}"]
        try:
            tasks = read_tasks(_run("squeue", "-h", "-r", *filters, "-o", "%F|%K|%T|%r"))
        except (OSError, subprocess.SubprocessError):
            if self._has_answered:
                return None
            raise InputError("launch slurm", "squeue", "Slurm does not answer; does `sinfo` here?") from None
        self._has_answered = True
        self._tasks = latest_tasks(task for task in tasks if task.active or task.job in self._submitted)
        return {number: task.state for number, task in self._tasks.items() if task.active}

    def death_of(self, shard: int) -> tuple[str, bool]:
        """Return the state of a dead shard's job; final if the job was cancelled by hand."""
        state = self._tasks[shard].state if shard in self._tasks else "its job is gone"
        return state, state == "CANCELLED"

    def leave(self) -> str:
        return f"the jobs go on; the same command follows them, `scancel --name={self._name}` ends them"


def script(plan: Plan, options: argparse.Namespace) -> str:
    """The job script. It holds no keys: `sbatch` passes on the environment of the user who submits."""
    lines = {
        "job-name": job_name(plan),
        "array": _array(plan.numbers, options),
        "partition": options.partition,
        "qos": options.qos,
        "account": options.account,
        "time": options.time,
        "nodes": 1,
        "ntasks": 1,
        "gres": options.gpus_per_job and f"gpu:{options.gpus_per_job}",
        "cpus-per-task": options.cpus_per_job,
        "mem": options.mem,
        "chdir": plan.cwd,
        "output": plan.launch_folder / f"shard-%a-of-{plan.shards}.log",
        "open-mode": "append",
        "signal": f"B:USR1@{_SIGNAL_BEFORE_LIMIT_S}",
    }
    words = [f"--{name}={shlex.quote(str(value))}" for name, value in lines.items() if value is not None]
    words += ["--requeue", *(shlex.quote(f"--{word.removeprefix('--')}") for word in options.sbatch)]
    command = plan.shell_command('"$SLURM_ARRAY_TASK_ID"')
    return "\n".join(["#!/bin/bash", *(f"#SBATCH {word}" for word in words), command, ""])


def job_name(plan: Plan) -> str:
    """The array's name, unique to the run folder: a later launcher finds the jobs by it."""
    return f"needlework-{plan.folder.name}-{sha256(str(plan.folder).encode()).hexdigest()[:8]}"


def _array(shards: Sequence[int], options: argparse.Namespace) -> str:
    """`--array` for these shards: `1-8%4`, or `2,5`."""
    is_range = len(shards) == shards[-1] - shards[0] + 1
    numbers = f"{shards[0]}-{shards[-1]}" if is_range else ",".join(map(str, shards))
    return f"{numbers}%{options.max_jobs}" if options.max_jobs else numbers


def read_tasks(listing: str) -> list[ArrayTask]:
    """Read the output of `squeue`; lines that are no tasks of an array are left out."""
    tasks = []
    for line in listing.splitlines():
        job, number, state, reason = [*line.split("|", 3), "", "", ""][:4]
        if state in _WAITING:
            state = f"waiting ({reason})" if reason not in ("", "None") else "waiting"
        if job.isdecimal() and number.isdecimal():
            tasks.append(ArrayTask(int(job), int(number), "running" if state in _RUNNING else state))
    return tasks


def latest_tasks(tasks: Iterable[ArrayTask]) -> dict[int, ArrayTask]:
    """Return each shard's active task, else that of the latest job."""
    return {task.number: task for task in sorted(tasks, key=lambda task: (task.active, task.job))}


def _run(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S).stdout
    except FileNotFoundError:
        remedy = "is not here; launch on a machine that submits to Slurm"
        raise InputError("launch slurm", command[0], remedy) from None
