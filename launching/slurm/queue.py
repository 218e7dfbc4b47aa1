"""Slurm's commands, and what they answer."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.errors import InputError

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
class Task:
    """A task of an array, as `squeue` has it. `state`: `running`, `waiting`, or Slurm's own word for an end."""

    job: int
    number: int
    state: str
    reason: str = ""

    @property
    def alive(self) -> bool:
        return self.state in ("running", "waiting")


def tasks_in(listing: str) -> list[Task]:
    """Read what `squeue` printed; lines that are none of ours are left out."""
    tasks = []
    for line in listing.splitlines():
        job, number, state, reason = [*line.split("|", 3), "", "", ""][:4]
        if job.isdecimal() and number.isdecimal():
            kind = "waiting" if state in _WAITING else "running" if state in _RUNNING else state
            tasks.append(Task(int(job), int(number), kind, reason))
    return tasks


def latest(tasks: Iterable[Task]) -> dict[int, Task]:
    """Return each shard's task: one that is not at an end, else that of the latest job."""
    found: dict[int, Task] = {}
    for task in sorted(tasks, key=lambda task: (task.alive, task.job)):
        found[task.number] = task
    return found


def tasks_named(name: str) -> list[Task] | None:
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
