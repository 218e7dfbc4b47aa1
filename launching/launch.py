"""`needlework launch slurm|ray|local|kubernetes`: one run on many machines, cards or cores, in one command."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.command_line import refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.workers.devices import gpus
from needlework.launching.kubernetes import Pods, indexed_job
from needlework.launching.local import LocalProcesses, places
from needlework.launching.options import parsed
from needlework.launching.progress import Progress
from needlework.launching.ray_tasks import RayTasks
from needlework.launching.shards.check import check, check_names
from needlework.launching.shards.follow import Engine, follow, missing
from needlework.launching.shards.plan import Plan, launched_shards
from needlework.launching.shards.words import pytest_words
from needlework.launching.slurm.array import SlurmArray
from needlework.launching.slurm.script import Wanted, script

INTERRUPTED = 2
_PAUSE_S = 2.0


def main(argv: Sequence[str]) -> int:
    """Launch, follow, merge. Returns the gates' exit code, 3 where shards are missing, 2 for bad input or Ctrl-C."""
    try:
        options, words = parsed(argv)
        here = Path(options.mount) if options.engine == "kubernetes" else Path.cwd()
        folder, rest = pytest_words(words, here)
        return _launch(options, folder, rest, here)
    except InputError as error:
        return refuse("launch", error)
    except OSError as error:
        return refuse("launch", InputError("file", error.filename or "", f"{error.strerror}; every answer is kept"))
    except KeyboardInterrupt:
        return INTERRUPTED


def _launch(options: argparse.Namespace, folder: Path, words: tuple[str, ...], here: Path) -> int:
    at_once = _places(options) if options.engine == "local" else None
    by_default = len(at_once) if at_once else getattr(options, "max_jobs", None)
    shards = options.shards or launched_shards(folder) or by_default
    if not shards:
        raise InputError("--shards", "", "say in how many parts the run is divided")
    plan = Plan(folder, shards, words, here, options.retries)
    if options.engine == "kubernetes":
        return _kubernetes(options, plan)
    check(plan)
    if options.dry_run:
        print(script(plan, _wanted(options)) if options.engine == "slurm" else _commands(plan), end="")
        return 0
    engine = _engine(options, plan, at_once or [])
    if plan.was_launched_otherwise() and engine.look():
        remedy = "its shards still run with other options: end them, or give another --run-name"
        raise InputError("--run-name", folder.name, remedy)
    with plan.opened():
        return _leave_alone(plan, engine) if getattr(options, "no_wait", False) else _followed(plan, engine)


def _followed(plan: Plan, engine: Engine) -> int:
    progress = Progress(plan, sys.stdout)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler)
    try:
        follow(plan, engine, progress.tell, progress.show, _PAUSE_S)
    except KeyboardInterrupt:
        progress.tell(engine.leave())
        return INTERRUPTED
    return progress.merged()


def _engine(options: argparse.Namespace, plan: Plan, at_once: list[dict[str, str]]) -> Engine:
    if options.engine == "slurm":
        return SlurmArray(plan, _wanted(options))
    if options.engine == "ray":
        return RayTasks(plan, options.address, options.gpus_per_job, options.cpus_per_job)
    return LocalProcesses(plan, at_once)


def _places(options: argparse.Namespace) -> list[dict[str, str]]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = places(gpus(), options.gpus_per_job, options.jobs, cores)
    if not found:
        raise InputError("--gpus-per-job", options.gpus_per_job, f"this machine has {len(gpus().names)} cards")
    return found


def _wanted(options: argparse.Namespace) -> Wanted:
    return Wanted(
        partition=options.partition,
        qos=options.qos,
        account=options.account,
        time=options.time,
        gpus=options.gpus_per_job,
        cpus=options.cpus_per_job,
        memory=options.mem,
        jobs=options.max_jobs,
        further=tuple(options.sbatch),
    )


def _commands(plan: Plan) -> str:
    return "".join(f"{shlex.join(plan.command(f'{number}/{plan.shards}'))}\n" for number in plan.numbers)


def _kubernetes(options: argparse.Namespace, plan: Plan) -> int:
    if not options.dry_run:
        raise InputError("launch kubernetes", "", "give --dry-run: it prints a Job, and `kubectl apply -f -` starts it")
    check_names(plan)
    pods = Pods(
        image=options.image,
        claim=options.claim,
        mount=options.mount,
        secret=options.secret,
        gpus=options.gpus_per_job,
        cpus=options.cpus_per_job,
        memory=options.mem,
        at_once=options.max_jobs,
    )
    print(indexed_job(plan, pods), end="")
    return 0


def _leave_alone(plan: Plan, engine: Engine) -> int:
    start = missing(plan, engine.look() or {}, print)
    if start:
        print(engine.start(start))
    print(f"the same command without --no-wait follows it; needlework status {plan.folder} tells how far it is")
    print(f"when all shards have ended: needlework merge {plan.folder}")
    return 0
