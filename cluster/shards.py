"""Shards of a launch: their plan, command lines and ends."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.redact import Redactor, named_secrets
from needlework.core.settings import check_tree
from needlework.results.records.run_folder import claim, read_run_json

JOB = "needlework.cluster.job"


@dataclass(frozen=True)
class Plan:
    """What is to be run, however it is started.

    `folder`: the run's. `words`: pytest's, the same for each shard. `here`: the folder in which pytest is started.
    `retries`: how often a shard that died is tried again.
    """

    folder: Path
    shards: int
    words: tuple[str, ...]
    here: Path
    retries: int

    @property
    def notes(self) -> Path:
        """The folder of logs, scripts and endings of shards."""
        return self.folder / "launch"

    @property
    def numbers(self) -> range:
        """The shards' numbers, from 1."""
        return range(1, self.shards + 1)

    @property
    def digest(self) -> str:
        """Tells whether a shard ended with the same words."""
        return digest_of(self.words)

    def log(self, number: int) -> Path:
        return self.notes / f"shard-{number}-of-{self.shards}.log"

    def ending(self, number: int) -> Ending | None:
        """How the shard ended; `None` while it has not."""
        return ending_of(self.notes, f"{number}-of-{self.shards}")

    def command(self, shard: str, *, python: str = sys.executable, retries: int | None = None) -> list[str]:
        """The command line that runs a shard, named `I/N`."""
        tries = self.retries if retries is None else retries
        options = ["--folder", str(self.folder), "--retries", str(tries), "--shard", shard]
        return [python, "-m", JOB, *options, "--", *self.words]

    def was_launched_otherwise(self) -> bool:
        """Whether an earlier launch of this run had other words for pytest."""
        earlier = _launched(self.folder).get("words", list(self.words))
        return bool(earlier != list(self.words))

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Note the launch in the run's folder, and claim it: one launcher at a time.

        Raises `InputError` where it was divided otherwise, and where another launcher follows it.
        """
        earlier, path = launched_shards(self.folder), self.notes / "launcher"
        if earlier not in (None, self.shards):
            raise InputError("--shards", self.shards, f"this run has {earlier}; or give another --run-name")
        try:
            self.notes.mkdir(parents=True, exist_ok=True)
            check_tree(self.notes, self.notes)
            file = FileIO(path, "a")
        except OSError as error:
            raise InputError("--results-dir", self.folder.parent, f"cannot be written ({error.strerror})") from None
        with file:
            claim(file, path, ("--run-name", self.folder))
            noted = {"shards": self.shards, "words": self.words}
            write_whole(self.notes / "launch.json", json.dumps(noted, indent=1).encode())
            yield

    def drop_endings(self, numbers: Iterable[int]) -> None:
        """Forget how these shards ended, before they are started again."""
        for number in numbers:
            (self.notes / f"shard-{number}-of-{self.shards}.json").unlink(missing_ok=True)


def launched_shards(folder: Path) -> int | None:
    """How many shards the run was launched in; `None` where it was not."""
    shards = _launched(folder).get("shards")
    return shards if isinstance(shards, int) else None


def _launched(folder: Path) -> dict[str, Any]:
    try:
        return dict(read_run_json(folder / "launch" / "launch.json"))
    except (OSError, ValueError, TypeError):
        return {}


_OURS = ("--shard", "--collect-only", "--co", "--plan", "--fresh")


def pytest_words(words: Sequence[str], here: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the run's folder and the words that are left for each shard.

    Without a word that names benchmarks, they are ours. Raises `InputError`.
    """
    from needlework.autoload import asks_for_benchmarks  # it imports pytest, which a shard's own process does without

    rest = list(words[1:] if words[:1] == ["pytest"] else words)
    name = _taken(rest, "--run-name")
    if not name or name in (".", "..") or any(mark in name for mark in "/\\\0"):
        raise InputError(
            "--run-name", name or "", "give one after `--`, a folder's name: the same command then goes on"
        )
    for word in rest:
        if word.partition("=")[0] in _OURS:
            raise InputError(
                "after --", word, "is not for a launch: it divides the cells itself, and starts all of them"
            )
        if secret_in(word):
            shown = word.partition("=")[0] if "=" in word else "a word with a key or password"
            remedy = (
                "holds a secret, and scripts keep words: name an environment variable (--api-key-env, header.X=ENV:Y)"
            )
            raise InputError("after --", shown, remedy)
    folder = here / (_taken(rest, "--results-dir") or "results/runs") / name
    if not any(word.partition("::")[0].endswith(".py") for word in rest) and not asks_for_benchmarks(
        rest, "--pyargs" in rest, here
    ):
        rest = ["--pyargs", "needlework.benchmarks", *rest]
    return folder, tuple(rest)


def _taken(words: list[str], option: str) -> str | None:
    """Take an option out of the words, each time that it is there, and return its last value."""
    found = None
    for i in reversed(range(len(words))):
        if words[i].startswith(f"{option}="):
            found = found or words.pop(i).partition("=")[2]
        elif words[i] == option and i + 1 < len(words):
            found = found or words[i + 1]
            del words[i : i + 2]
    return found


def secret_in(word: str) -> bool:
    """Whether a word holds a key, or a password in an address, instead of the name of what holds it."""
    if Redactor().clean(word) != word:
        return True
    return any(_is_secret(text) for text in _values(word))


def _values(word: str) -> Iterator[str]:
    """A word and what stands after each `=` in it."""
    while word:
        yield word
        word = word.partition("=")[2]


def _is_secret(text: str) -> bool:
    if "://" in text:
        with suppress(ValueError):
            return urlsplit(text).password is not None
    name, _, value = text.partition("=")
    if name.startswith("header."):
        named = {name.removeprefix("header."): value.removeprefix("Bearer ")}
        return not value.startswith("ENV:") and any(named_secrets(named))
    if text.startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return any(named_secrets(json.loads(text)))
    return False


_UNKNOWN = "unrecognized arguments"
_MEANT = "needlework: "


def check(plan: Plan) -> None:
    """Have pytest plan the run as one shard: options, tests, models, tokenizers, texts, lengths. Nothing is asked.

    Raises `InputError`.
    """
    run = ["--results-dir", str(plan.folder.parent), "--run-name", plan.folder.name, "--shard", "1/1"]
    code, said = _said([*plan.words, *run, "--plan", "-q"], plan.here)
    if code:
        raise _refused(plan, said, error_line(said) or "pytest finds no test in it")


def check_names(plan: Plan) -> None:
    """Have pytest read the names of the options alone: files and keys are where the shards will run.

    Raises `InputError`.
    """
    _, said = _said([*plan.words, "--collect-only", "-q"], Path.cwd())
    line = next((line for line in said.splitlines() if _UNKNOWN in line), "")
    if line:
        raise _refused(plan, said, line)


def _refused(plan: Plan, said: str, line: str) -> InputError:
    """The error that pytest's line tells, and which option was meant where pytest names one."""
    remedy = re.sub(r"^.*?\b(ERROR|error): ", "", line)
    meant = next((line.strip().removeprefix(_MEANT) for line in said.splitlines() if _MEANT in line), "")
    also = f"; {meant}" if _UNKNOWN in remedy and meant else ""
    return InputError("after --", shlex.join(plan.words), f"{remedy}{also}")


def _said(words: list[str], here: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", *words]
    found = subprocess.run(command, cwd=here, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return found.returncode, found.stdout + found.stderr


_ERROR = re.compile(r"\b(ERROR|error):")
DONE = (0, 1)  # pytest's: all cells answered; some of them ended in errors
DIED = 3  # an internal error; so counts every signal that nobody sent to stop it
INTERRUPTED = 2
WRONG_USE = (
    INTERRUPTED,
    4,
    5,
)  # a file that cannot be collected, an option that is wrong, nothing selected: the same next time


@dataclass(frozen=True)
class Ending:
    """`exit`: pytest's code, negative for a signal. `digest`: of the words. `tries`: processes that were needed."""

    exit: int
    digest: str
    tries: int
    host: str
    why: str = ""

    @property
    def done(self) -> bool:
        return self.exit in DONE


def ending_of(notes: Path, name: str) -> Ending | None:
    """Read a shard's ending, `name` as in `2-of-4`; `None` where there is none."""
    try:
        return Ending(**read_run_json(notes / f"shard-{name}.json"))
    except (OSError, ValueError, TypeError):
        return None


def write_ending(notes: Path, name: str, ending: Ending) -> None:
    """Write a shard's ending. Raises `OSError`."""
    write_whole(notes / f"shard-{name}.json", json.dumps(asdict(ending)).encode())


def error_line(output: str) -> str:
    """The last line of pytest's output that tells an error; empty where none does."""
    told = [line.strip() for line in output.splitlines() if _ERROR.search(line)]
    return told[-1] if told else ""


def digest_of(words: Sequence[str]) -> str:
    """Ten hex digits for the words that pytest was given."""
    return sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:10]
