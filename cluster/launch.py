"""`needlework launch`: a run in shards."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from needlework.cluster.kubernetes import Pods, indexed_job
from needlework.cluster.progress import ShardProgress, ShardStarter, follow, missing
from needlework.cluster.ray_tasks import RayTasks
from needlework.cluster.shards import Plan, check, check_names, launched_shards, pytest_words
from needlework.cluster.slurm import SlurmArray, SlurmRequest, script
from needlework.core.devices import Gpus, gpus
from needlework.core.errors import InputError, OneLineParser, refuse

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


def _followed(plan: Plan, engine: ShardStarter) -> int:
    progress = ShardProgress(plan, sys.stdout)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler)
    try:
        follow(plan, engine, progress.tell, progress.show, _PAUSE_S)
    except KeyboardInterrupt:
        progress.tell(engine.leave())
        return INTERRUPTED
    return progress.merged()


def _engine(options: argparse.Namespace, plan: Plan, at_once: list[dict[str, str]]) -> ShardStarter:
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


def _wanted(options: argparse.Namespace) -> SlurmRequest:
    return SlurmRequest(
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


def _leave_alone(plan: Plan, engine: ShardStarter) -> int:
    start = missing(plan, engine.look() or {}, print)
    if start:
        print(engine.start(start))
    print(f"the same command without --no-wait follows it; needlework status {plan.folder} tells how far it is")
    print(f"when all shards have ended: needlework merge {plan.folder}")
    return 0


ENGINES = ("local", "slurm", "ray", "kubernetes")


def parsed(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, and pytest's words. Raises `InputError`; ends the process for `--help` and wrong options."""
    words = list(argv)
    ours, after = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, None)
    # OpenCompass: `--slurm -p PARTITION -q QOS --max-num-workers N --retry N`.
    ours = ["slurm", *(word for word in ours if word != "--slurm")] if "--slurm" in ours else ours
    parser = _parser()
    if not ours or ours[0] not in (*ENGINES, "-h", "--help"):
        parser.error(f"{f'{ours[0]!r} is none: ' if ours else ''}an engine comes first: {', '.join(ENGINES)}")
    options = parser.parse_args(ours)
    if after is None:
        raise InputError("launch", options.engine, "write `--` and then the options of pytest, --run-name among them")
    return options, after


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework launch",
        description="Run the benchmarks in shards, follow them, merge them, and judge the gates of the whole.",
        epilog="needlework launch ENGINE --help tells the options of each; after `--` stand those of pytest.",
    )
    engines = parser.add_subparsers(dest="engine", required=True, metavar="ENGINE", parser_class=OneLineParser)
    _local(_options_engine(engines, "local", "processes of this machine, one for each card or core"))
    _slurm(_options_engine(engines, "slurm", "an array of jobs"))
    _ray(_options_engine(engines, "ray", "tasks of a Ray cluster"))
    _options_kubernetes(_options_engine(engines, "kubernetes", "an Indexed Job, written as YAML"))
    return parser


def _options_engine(
    engines: argparse._SubParsersAction[OneLineParser], name: str, about: str
) -> argparse.ArgumentParser:
    usage = f"needlework launch {name} [options] -- PYTEST OPTIONS"
    each = engines.add_parser(name, help=about, description=about, usage=usage, allow_abbrev=False)
    each.add_argument("--shards", type=_count, metavar="N", help="parts that the run is divided into")
    each.add_argument(
        "--retries",
        "--retry",
        type=_number,
        default=2,
        metavar="R",
        help="how often a shard that died is tried again [2]",
    )
    each.add_argument("--dry-run", action="store_true", help="print what would be started, and start nothing")
    return each


def _local(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=_count, metavar="N", help="processes at once [cards, or cores where there are none]"
    )
    parser.add_argument("--gpus-per-job", type=_number, default=1, metavar="K", help="cards of each process [1]")


def _slurm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--partition", metavar="NAME")
    parser.add_argument("-q", "--qos", metavar="NAME")
    parser.add_argument("-A", "--account", metavar="NAME")
    parser.add_argument(
        "-t", "--time", metavar="TIME", help="time limit of a job, as sbatch takes it; then queued again"
    )
    parser.add_argument("--gpus-per-job", metavar="K", help="cards of each job: 2, or a100:2")
    parser.add_argument("-c", "--cpus-per-job", type=_count, metavar="K", help="cores of each job")
    parser.add_argument("--mem", metavar="SIZE", help="memory of each job, as sbatch takes it: 64G")
    parser.add_argument("--max-jobs", "--max-num-workers", type=_count, metavar="M", help="most jobs at once")
    parser.add_argument(
        "--sbatch", action="append", default=[], metavar="OPTION", help="another option: --sbatch constraint=a100"
    )
    parser.add_argument("--no-wait", action="store_true", help="submit, say how to go on, and end")


def _ray(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--address", metavar="auto|HOST:PORT", help="a cluster that is there [one of our own, on 127.0.0.1]"
    )
    parser.add_argument("--gpus-per-job", type=_part, default=0, metavar="K", help="cards of each shard: 1, or 0.5 [0]")
    parser.add_argument("--cpus-per-job", type=_part, default=1, metavar="K", help="cores of each shard [1]")


def _options_kubernetes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", required=True, metavar="IMAGE", help="has needlework, and what the model needs")
    parser.add_argument("--claim", required=True, metavar="PVC", help="claim of the volume that all pods write runs to")
    parser.add_argument(
        "--mount", default="/runs", metavar="DIR", help="where it is mounted, and pytest starts [/runs]"
    )
    parser.add_argument("--secret", metavar="NAME", help="Secret whose entries become environment variables: keys")
    parser.add_argument(
        "--gpus-per-job", type=_number, default=0, metavar="K", help="cards of each pod (nvidia.com/gpu) [0]"
    )
    parser.add_argument("--cpus-per-job", metavar="K", help="cores of each pod: 4, or 500m")
    parser.add_argument("--mem", metavar="SIZE", help="memory of each pod: 64Gi")
    parser.add_argument("--max-jobs", type=_count, metavar="M", help="most pods at once")


def _count(text: str) -> int:
    number = _number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: use a whole number from 1")
    return number


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: use a whole number")
    return int(text)


def _part(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r}: use a number, as 1 or 0.5")
    return number


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
