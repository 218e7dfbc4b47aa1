"""`needlework launch`: run the benchmarks in shards on an engine, follow them, merge them."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import Protocol, TextIO

from needlework import main as run_needlework
from needlework.cluster.job import Plan, check_run, error_line, launched_shards, split_pytest_words, start_logged
from needlework.cluster.schedulers import RayTasks, SlurmArray, indexed_job, slurm_script
from needlework.core.devices import Gpus, gpus
from needlework.core.errors import InputError, OneLineParser, ending_signals, number_from, run_command
from needlework.core.settings import READ
from needlework.results.records.run_folder import SHARDS
from needlework.results.style import clock

ENGINES = {
    "local": "processes of this machine, one for each card or core",
    "slurm": "an array of jobs",
    "ray": "tasks of a Ray cluster",
    "kubernetes": "an Indexed Job, written as YAML",
}
INTERRUPTED, MISSING = 2, 3
_PAUSE_S = 2.0
_LOG_INTERVAL_S = 30.0


def main(argv: Sequence[str]) -> int:
    """Launch, follow, merge. Returns the gates' exit code, 3 for missing shards, 2 for input or Ctrl-C."""
    with suppress(KeyboardInterrupt), ending_signals():
        return run_command("launch", lambda: _launch(*parse_arguments(argv)))
    return INTERRUPTED


def _launch(options: argparse.Namespace, words: Sequence[str]) -> int:
    cwd = Path(options.mount) if options.engine == "kubernetes" else Path.cwd()
    folder, pytest_words = split_pytest_words(words, cwd)
    environments: list[dict[str, str]] = []
    if options.engine == "local":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        environments = process_environments(gpus(), options.gpus_per_job, options.jobs, cores)
        if not environments:
            raise InputError("--gpus-per-job", options.gpus_per_job, f"this machine has {len(gpus().names)} cards")
    shards = options.shards or launched_shards(folder) or len(environments) or getattr(options, "max_jobs", None)
    if not shards:
        raise InputError("--shards", "", "say in how many parts the run is divided")
    plan = Plan(folder, shards, pytest_words, cwd, options.retries)
    if options.engine == "kubernetes":
        if not options.dry_run:
            remedy = "give --dry-run: it prints a Job, and `kubectl apply -f -` starts it"
            raise InputError("launch kubernetes", "", remedy)
        check_run(plan, names_only=True)
        print(indexed_job(plan, options), end="")
        return 0
    check_run(plan)
    if options.dry_run:
        commands = "\n".join(shlex.join(plan.command(f"{number}/{shards}")) for number in plan.numbers)
        print(slurm_script(plan, options) if options.engine == "slurm" else f"{commands}\n", end="")
        return 0
    engine: Scheduler = LocalProcesses(plan, environments)
    if options.engine != "local":
        engine = (SlurmArray if options.engine == "slurm" else RayTasks)(plan, options)
    if plan.had_other_words() and engine.poll():
        remedy = "its shards still run with other options: end them, or give another --run-name"
        raise InputError("--run-name", folder.name, remedy)
    with plan.claimed():
        return _submit(plan, engine) if getattr(options, "no_wait", False) else _follow_and_merge(plan, engine)


def _follow_and_merge(plan: Plan, engine: Scheduler) -> int:
    line = StatusLine(sys.stdout)

    def show(state: str) -> None:
        line.update(f"{trials_status(plan.folder) or 'no trial yet'}; {state}")

    try:
        follow(plan, engine, line.message, show, _PAUSE_S)
    except KeyboardInterrupt:
        line.message(engine.leave())
        return INTERRUPTED
    if not (plan.folder / SHARDS).exists():
        line.message("no shard has written anything")
        return MISSING
    line.message(f"needlework merge {plan.folder}")
    # The shards ran with this user's own words: the files that these name may be read.
    return run_needlework(["merge", str(plan.folder), READ, plan.cwd.anchor])


def _submit(plan: Plan, engine: Scheduler) -> int:
    start = shards_to_start(plan, engine.poll() or {}, print)
    if start:
        print(engine.start(start))
    print(f"the same command without --no-wait follows it; needlework status {plan.folder} tells how far it is")
    print(f"when all shards have ended: needlework merge {plan.folder}")
    return 0


def process_environments(cards: Gpus, cards_each: int, jobs: int | None, cores: int) -> list[dict[str, str]]:
    """Return the variables of each concurrent process: `cards_each` cards, or a share of the cores.

    Without cards there are as many processes as cores; libraries that count the cores themselves get their share.
    """
    if cards.names and cards_each:
        starts = range(0, len(cards.names) - cards_each + 1, cards_each)
        return [{cards.variable: ",".join(cards.names[i : i + cards_each])} for i in starts][:jobs]
    count = jobs or cores
    return [{"OMP_NUM_THREADS": str(max(1, cores // count))} for _ in range(count)]


_STOP_S = 60.0  # a stopped shard writes its files first


class LocalProcesses:
    """Runs shards as child processes; each that runs at once has one of `environments` added to its own."""

    settle_s = 15.0  # a server that a shard had started may hold its card for 10 seconds

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
                command, variables = self._plan.command(f"{number}/{self._plan.shards}"), self._environments[index]
                process = start_logged(command, log, self._plan.cwd, env={**os.environ, **variables})
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


def parse_arguments(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options and pytest's words. Raises `InputError`; exits for `--help` and wrong options."""
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
    count, positive, amount = number_from(0), number_from(1), number_from(0, float)
    for name, about in ENGINES.items():
        usage = f"needlework launch {name} [options] -- PYTEST OPTIONS"
        add = engines.add_parser(name, help=about, description=about, usage=usage, allow_abbrev=False).add_argument
        add("--shards", type=positive, metavar="N", help="parts that the run is divided into")
        retries = "how often a shard that died is started again [2]"
        add("--retries", "--retry", type=count, default=2, metavar="R", help=retries)
        add("--dry-run", action="store_true", help="print what would be started, and start nothing")
        if name == "local":
            add("--jobs", type=positive, metavar="N", help="processes at once [cards, or cores where there are none]")
            add("--gpus-per-job", type=count, default=1, metavar="K", help="cards of each process [1]")
        elif name == "slurm":
            add("-p", "--partition", metavar="NAME")
            add("-q", "--qos", metavar="NAME")
            add("-A", "--account", metavar="NAME")
            add("-t", "--time", metavar="TIME", help="time limit of a job, as sbatch takes it; then queued again")
            add("--gpus-per-job", metavar="K", help="cards of each job: 2, or a100:2")
            add("-c", "--cpus-per-job", type=positive, metavar="K", help="cores of each job")
            add("--mem", metavar="SIZE", help="memory of each job, as sbatch takes it: 64G")
            add("--max-jobs", "--max-num-workers", type=positive, metavar="M", help="most jobs at once")
            other = "another option: --sbatch constraint=a100"
            add("--sbatch", action="append", default=[], metavar="OPTION", help=other)
            add("--no-wait", action="store_true", help="submit, print the commands that follow it, and end")
        elif name == "ray":
            add("--address", metavar="auto|HOST:PORT", help="a running cluster [one of our own, on 127.0.0.1]")
            add("--gpus-per-job", type=amount, default=0, metavar="K", help="cards of each shard: 1, or 0.5 [0]")
            add("--cpus-per-job", type=amount, default=1, metavar="K", help="cores of each shard [1]")
        else:
            add("--image", required=True, metavar="IMAGE", help="has needlework, and what the model needs")
            add("--claim", required=True, metavar="PVC", help="claim of the volume that all pods write runs to")
            add("--mount", default="/runs", metavar="DIR", help="where it is mounted, and pytest starts [/runs]")
            add("--secret", metavar="NAME", help="Secret whose entries become environment variables: keys")
            add("--gpus-per-job", type=count, default=0, metavar="K", help="cards of each pod (nvidia.com/gpu) [0]")
            add("--cpus-per-job", metavar="K", help="cores of each pod: 4, or 500m")
            add("--mem", metavar="SIZE", help="memory of each pod: 64Gi")
            add("--max-jobs", type=positive, metavar="M", help="most pods at once")
    return parser


class Scheduler(Protocol):
    """Runs shards. `settle_s`: seconds from a job's end until its ending file is visible."""

    settle_s: float

    def start(self, shards: Sequence[int]) -> str:
        """Start or queue these shards; return a message, or an empty text."""

    def poll(self) -> Mapping[int, str] | None:
        """Return `running` or `waiting (REASON)` for each shard that has not ended.
        `None` if the scheduler does not answer."""

    def death_of(self, shard: int) -> tuple[str, bool]:
        """Return why a shard ended without an ending file, and whether it must not be started again."""

    def leave(self) -> str:
        """Stop shards that cannot go on without the launcher; return a message."""


def follow(
    plan: Plan, engine: Scheduler, message: Callable[[str], None], show: Callable[[str], None], pause_s: float
) -> None:
    """Start the shards that are neither done nor running, and return when all have ended.

    `message` gets events, `show` the status every `pause_s` seconds. A shard whose job ends without an ending file is
    started again, at most `plan.retries` times. The state is in the files: a later launcher continues from them.
    """
    starts: Counter[int] = Counter()
    dead_since: dict[int, float] = {}
    given_up: set[int] = set()
    restart: list[int] | None = None
    while True:
        active = engine.poll()
        if active is None:
            show("the scheduler does not answer")
            time.sleep(pause_s)
            continue
        dead = [n for n in plan.numbers if n not in active and n not in given_up and plan.ending(n) is None]
        if restart is None:
            restart = shards_to_start(plan, active, message)
            starts.update(active)
        elif not dead and not active:
            _report_failures(plan, message)
            return
        else:
            now = time.monotonic()
            dead_since = {number: dead_since.get(number, now) for number in dead}
            restart = []
            for number in [number for number in dead if now - dead_since[number] >= engine.settle_s]:
                reason, is_final = engine.death_of(number)
                if is_final or starts[number] > plan.retries:
                    given_up.add(number)
                    end = f"given up; its log: {plan.log(number)}"
                else:
                    restart.append(number)
                    end = "tried again"
                message(f"shard {number} ended without a word ({reason}), {end}")
        if restart:
            starts.update(restart)
            message(engine.start(restart))
            continue
        running = sum(state == "running" for state in active.values())
        waiting = [state for state in active.values() if state != "running"]
        ended = sum(number not in active and plan.ending(number) is not None for number in plan.numbers)
        queue = f", {len(waiting)} {max(waiting, key=len)}" if waiting else ""
        show(f"{ended} of {plan.shards} shards ended, {running} running{queue}")
        time.sleep(pause_s)


def shards_to_start(plan: Plan, active: Mapping[int, str], message: Callable[[str], None]) -> list[int]:
    """Return the shards to start now: those that neither run nor ended without an error."""
    endings = {number: plan.ending(number) for number in plan.numbers if number not in active}
    start = [number for number, ending in endings.items() if not ending or ending.exit]
    plan.remove_endings(start)
    done = len(endings) - len(start)
    if done or active:
        counts = f"{len(active)} are queued or running, {len(start)} are started"
        message(f"{done} of {plan.shards} shards are done, {counts}")
    return start


def trials_status(run: Path) -> str:
    """Describe how many trials are done: `14 of 36 trials, 0:40 left`; empty while there are no files."""
    from needlework.results.merge.parts import progress_of_run, total_of  # loaded when needed

    try:
        total = total_of(progress_of_run(run, time.time()))
    except (InputError, OSError):
        return ""
    errors = f", {total.errors:,} errors" if total.errors else ""
    left = f", {clock(total.left_s)} left" if total.left_s else ""
    return f"{total.done:,} of {total.expected:,} trials{errors}{left}"


def _report_failures(plan: Plan, message: Callable[[str], None]) -> None:
    """Report failed shards, in one line for those with the same error."""
    shards_by_error: dict[str, list[int]] = {}
    for number in plan.numbers:
        ending = plan.ending(number)
        if ending and not ending.done:
            log = plan.log(number)
            output = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
            error = ending.why or error_line(output) or f"pytest ended with {ending.exit}"
            shards_by_error.setdefault(error, []).append(number)
    for error, numbers in shards_by_error.items():
        label = f"shard {numbers[0]}" if len(numbers) == 1 else f"shards {', '.join(map(str, numbers))}"
        message(f"{label} failed: {error}; its log: {plan.log(numbers[0])}")


class StatusLine:
    """Prints messages and a status to `out`: overwritten on a terminal, once in 30 s in a log."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._last_status = ""
        self._printed_at = float("-inf")

    def message(self, text: str) -> None:
        """Print a line of its own; an empty text prints nothing."""
        if text:
            self._write(f"\r\x1b[K{text}\n" if self._is_terminal else f"{text}\n")

    def update(self, status: str) -> None:
        """Show the current status; a log gets it only if it has changed."""
        if self._is_terminal:
            self._write(f"\r\x1b[K{status[: get_terminal_size().columns - 1]}")
        elif time.monotonic() - self._printed_at >= _LOG_INTERVAL_S:
            if status != self._last_status:
                self._write(f"{status}\n")
            self._last_status, self._printed_at = status, time.monotonic()

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
