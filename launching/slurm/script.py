"""The script that `sbatch` gets: one array, a task for each shard. It can be read, changed, and submitted by hand."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from hashlib import sha256

from needlework.launching.shards.plan import Plan

_BEFORE_LIMIT_S = 60  # the shard is told that its time ends, writes its files and is queued again


@dataclass(frozen=True)
class Wanted:
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


def script(plan: Plan, wanted: Wanted) -> str:
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
