"""The shards of a launch: their plan and endings, and the process that runs one, `python -m needlework.cluster.job`.

That process runs pytest, and writes how the shard ended unless it was stopped or killed: then its engine starts it
again. At a signal to stop, and when its parent is gone (a launcher or a node's daemon that was killed), pytest writes
its journal.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from io import FileIO
from pathlib import Path
from types import FrameType
from typing import IO, Any

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.redact import Redactor, named_secrets
from needlework.core.settings import check_tree
from needlework.results.records.journal import Journal
from needlework.results.records.run_folder import claim, read_run_json

# Exit codes of pytest.
DONE = (0, 1)  # all cells answered; 1: some of them ended in errors
INTERRUPTED = 2
WRONG_USE = (INTERRUPTED, 4, 5)  # an uncollectable file, a wrong option, nothing selected: no retry


@dataclass(frozen=True)
class Ending:
    """The end of a shard."""

    exit: int  # pytest's code
    why: str = ""

    @property
    def done(self) -> bool:
        return self.exit in DONE


@dataclass(frozen=True)
class Plan:
    """A run and its division into shards, for every engine."""

    folder: Path  # of the run
    shards: int
    words: tuple[str, ...]  # pytest's, the same for each shard
    cwd: Path  # working directory of pytest
    retries: int  # restarts of a shard that died

    @property
    def launch_folder(self) -> Path:
        """The folder of logs, scripts and endings of shards."""
        return self.folder / "launch"

    @property
    def numbers(self) -> range:
        """The shards' numbers, from 1."""
        return range(1, self.shards + 1)

    def log(self, number: int) -> Path:
        """The log file of a shard."""
        return self.launch_folder / f"shard-{number}-of-{self.shards}.log"

    def ending(self, number: int) -> Ending | None:
        """The shard's ending; `None` while it runs, and if it died."""
        try:
            return Ending(**read_run_json(self.launch_folder / f"shard-{number}-of-{self.shards}.json"))
        except (OSError, ValueError, TypeError):
            return None

    def command(self, shard: str, *, python: str = sys.executable) -> list[str]:
        """The command line that runs a shard, named `I/N`."""
        return [python, "-m", "needlework.cluster.job", str(self.folder), shard, *self.words]

    def shell_command(self, number: str, *, python: str = sys.executable) -> str:
        """`command` for a shell that expands `number`."""
        start, _, end = shlex.join(self.command("NUMBER/", python=python)).partition("NUMBER/")
        return f"exec {start}{number}/{self.shards}{end}"

    def had_other_words(self) -> bool:
        """Whether an earlier launch of this run had other words for pytest."""
        return bool(_launch_json(self.folder).get("words", list(self.words)) != list(self.words))

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Lock the run for this launcher and write the launch into its folder.

        Raises `InputError` if the run has another number of shards or another launcher follows it.
        """
        earlier, path = launched_shards(self.folder), self.launch_folder / "launcher"
        if earlier not in (None, self.shards):
            raise InputError("--shards", self.shards, f"this run has {earlier}; or give another --run-name")
        try:
            self.launch_folder.mkdir(parents=True, exist_ok=True)
            check_tree(self.launch_folder, self.launch_folder)
            file = FileIO(path, "a")
        except OSError as error:
            raise InputError("--results-dir", self.folder.parent, f"cannot be written ({error.strerror})") from None
        with file:
            claim(file, path, ("--run-name", self.folder))
            if self.had_other_words():
                self.remove_endings(self.numbers)
            content = json.dumps({"shards": self.shards, "words": self.words}, indent=1)
            write_whole(self.launch_folder / "launch.json", content.encode())
            yield

    def remove_endings(self, numbers: Iterable[int]) -> None:
        """Delete the ending files of shards that are started again."""
        for number in numbers:
            (self.launch_folder / f"shard-{number}-of-{self.shards}.json").unlink(missing_ok=True)


def start_logged(command: Sequence[str], log: IO[bytes], cwd: Path, **further: Any) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, with its output in a log; `further`: for `Popen`."""
    further |= {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=cwd, start_new_session=True, **further)


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def launched_shards(folder: Path) -> int | None:
    """The number of shards that the run was launched in, if it was."""
    shards: int | None = _launch_json(folder).get("shards")
    return shards


def _launch_json(folder: Path) -> dict[str, Any]:
    try:
        return dict(read_run_json(folder / "launch" / "launch.json"))
    except (OSError, ValueError, TypeError):
        return {}


def write_ending(launch_folder: Path, shard: str, ending: Ending) -> None:
    """Write a shard's ending. Raises `OSError`."""
    write_whole(launch_folder / f"shard-{shard}.json", json.dumps(asdict(ending)).encode())


_SET_BY_LAUNCH = ("--shard", "--collect-only", "--co", "--plan", "--fresh")


def split_pytest_words(words: Sequence[str], cwd: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the run's folder and the words for each shard's pytest, our benchmarks by default.

    Raises `InputError`.
    """
    rest = list(words[1:] if words[:1] == ["pytest"] else words)
    name = pop_option(rest, "--run-name")
    if not name or name in (".", "..") or any(mark in name for mark in "/\\\0"):
        remedy = "give one after `--`, a folder's name: the same command then goes on"
        raise InputError("--run-name", name or "", remedy)
    for word in rest:
        if word.partition("=")[0] in _SET_BY_LAUNCH:
            remedy = "is not for a launch: it divides the cells itself, and starts all of them"
            raise InputError("after --", word, remedy)
        if contains_secret(word):
            shown = word.partition("=")[0] if "=" in word else "a word with a key or password"
            variable = "name an environment variable (--api-key-env, header.X=ENV:Y)"
            raise InputError("after --", shown, f"holds a secret, and scripts keep words: {variable}")
    folder = cwd / (pop_option(rest, "--results-dir") or "results/runs") / name
    return folder, (*benchmark_words(rest, cwd), *rest)


def benchmark_words(words: Sequence[str], cwd: Path) -> tuple[str, ...]:
    """Return the words that name our benchmarks; empty if pytest's words name tests already."""
    from needlework.autoload import asks_for_benchmarks  # imports pytest, which a shard's own process does without

    names_files = any(word.partition("::")[0].endswith(".py") for word in words)
    if names_files or asks_for_benchmarks(list(words), "--pyargs" in words, cwd):
        return ()
    return ("--pyargs", "needlework.benchmarks")


def pop_option(words: list[str], option: str) -> str | None:
    """Remove every occurrence of an option, and return its last value."""
    values = []
    for i in reversed(range(len(words))):
        if words[i].startswith(f"{option}="):
            values.append(words.pop(i).partition("=")[2])
        elif words[i] == option and i + 1 < len(words):
            values.append(words.pop(i + 1))
            del words[i]
    return values[0] if values else None


def contains_secret(word: str) -> bool:
    """Whether a word holds a key, or a password in an address, instead of a variable's name."""
    if Redactor().clean(word) != word or re.search(r"://[^/\s]*:[^/\s]+@", word):
        return True
    name, _, value = word.removeprefix("--model-arg=").partition("=")
    if name.startswith("header."):
        return not value.startswith("ENV:") and any(named_secrets({name.removeprefix("header."): value}))
    with suppress(ValueError, RecursionError):
        return any(named_secrets(json.loads(value)))
    return False


_HINT = "needlework: "
_ERROR = re.compile(r"\b(ERROR|error):")


def check_run(plan: Plan, *, names_only: bool = False) -> None:
    """Have pytest plan the run as one shard, tests, models and texts included. Nothing is asked.

    `names_only`: only the names of options count, as files and keys are where the shards will run.
    Raises `InputError` with pytest's line, and the option that was meant if pytest names one.
    """
    run = ["--results-dir", str(plan.folder.parent), "--run-name", plan.folder.name, "--shard", "1/1", "--plan"]
    command = [sys.executable, "-m", "pytest", *plan.words, *(["--collect-only"] if names_only else run), "-q"]
    cwd = Path.cwd() if names_only else plan.cwd
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    is_unknown = "unrecognized arguments" in output
    if done.returncode and (is_unknown or not names_only):
        problem = re.sub(r"^.*?\b(ERROR|error): ", "", error_line(output)) or "pytest finds no test in it"
        hint = next((line.strip().removeprefix(_HINT) for line in output.splitlines() if _HINT in line), "")
        raise InputError("after --", shlex.join(plan.words), f"{problem}; {hint}" if hint and is_unknown else problem)


def error_line(output: str) -> str:
    """The last line of pytest's output that reports an error; empty if none does."""
    return next((line.strip() for line in reversed(output.splitlines()) if _ERROR.search(line)), "")


STOPPED = 143  # the exit code that a shell gives for SIGTERM
_TIME_LIMIT_SIGNAL = "SIGUSR1"  # cluster/schedulers.py asks Slurm to send it
_POLL_S, _LOCKED_S = 0.5, 40.0


class StopRequest:
    """The first signal to stop this process, which ends pytest as Ctrl-C does; later ones are ignored."""

    def __init__(self) -> None:
        self.reason = ""  # the signal's name; empty before any
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, self._stop)

    def _stop(self, number: int, _: FrameType | None) -> None:
        if not self.reason:
            self.reason = signal.Signals(number).name
            raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Run one shard: `FOLDER I/N WORDS...`, with pytest's words.

    Returns 0 if it is done, `STOPPED` if it was stopped, else pytest's exit code.
    """
    folder, shard, *words = sys.argv[1:] if argv is None else argv
    threading.Thread(target=_stop_without_parent, args=(os.getppid(),), daemon=True).start()
    return run_shard(Path(folder), shard, words)


def run_shard(folder: Path, shard: str, words: Sequence[str]) -> int:
    """Run pytest, and write the ending of the shard if it is final."""
    name = shard.replace("/", "-of-")
    journal = folder / "shards" / name / "journal.jsonl"
    _wait_for_lock(journal)
    size_before, why, stop = size_of(journal), "", StopRequest()
    _print(f"shard {name} on {socket.gethostname()}")
    try:
        run = ["--results-dir", str(folder.parent), "--run-name", folder.name, "--shard", shard]
        code = int(import_module("pytest").main([*words, *run]))
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code not in DONE and stop.reason:
        if stop.reason != _TIME_LIMIT_SIGNAL or size_of(journal) > size_before:
            _print(f"shard {name}: stopped ({stop.reason})")
            if stop.reason == _TIME_LIMIT_SIGNAL and "SLURM_JOB_ID" in os.environ:  # it goes on from the journal
                subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]], check=False, timeout=60)
            return STOPPED
        why = "no cell was finished within the time limit: give it more --time"
    if why or code in (*DONE, *WRONG_USE):
        write_ending(folder / "launch", name, Ending(code, why))
    _print(f"shard {name}: pytest ended with {code}{why and f'; {why}'}")
    return 0 if code in DONE else code


def _stop_without_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)


def _wait_for_lock(journal: Path) -> None:
    """Wait until an earlier process of this shard, which is just ending, has released its journal."""
    until = time.monotonic() + _LOCKED_S
    while journal.exists() and time.monotonic() < until:
        try:
            Journal(journal, fresh=False).close()
            return
        except InputError:
            time.sleep(_POLL_S)


def _print(text: str) -> None:
    print(f"needlework: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
