"""`--serve`: the server that a run starts for its model."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from needlework.core.errors import InputError, printable
from needlework.core.settings import Settings
from needlework.models.engines.recipes import (
    HERE,
    USUAL_HEALTH,
    Recipe,
    check_installed,
    command,
    find_recipe,
    parse_args,
    shown_command,
)
from needlework.models.specs import installed_gguf

_EMBEDDED = "smollm2"
_ADDRESS = "NEEDLEWORK_BASE_URL"
_PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty", "no_repeat_ngram_size")
_WANTED = {
    "gguf": "give a GGUF file, --model FILE.gguf",
    "folder": "give --model FOLDER, or a name of the hub",
    "any": "give --model FOLDER, FILE.gguf, or a name of the hub",
}


@dataclass(frozen=True, slots=True)
class ServedRun:
    """What `--serve` starts. `model`: what the engine is given; `name`: what requests call it; `weights`: the spec
    whose weights are hashed for the resume key, empty where they are the engine's own business (a hub's name).
    """

    recipe: Recipe
    args: Mapping[str, str | None]
    model: str
    name: str
    tokenizer: str | None
    weights: str

    def words(self, port: int | str) -> tuple[str, ...]:
        """The command line. Raises `InputError`."""
        return command(self.recipe, self.args, model=self.model, name=self.name, port=port)

    @property
    def facts(self) -> dict[str, str]:
        """What a manifest tells of it: the engine, its version where it is a package of ours, and the whole command."""
        version = f" {metadata.version(self.recipe.needs)}" if self.recipe.needs else ""
        facts = {"server": f"--serve {self.recipe.engine}{version}", "command": shown_command(self.words("{port}"))}
        return facts | self._checkpoint_facts

    @property
    def notes(self) -> list[str]:
        """What the user is told before the run: the checkpoint's own settings may change what greedy decoding gives."""
        settings = self._checkpoint_facts.get("checkpoint's generation_config")
        if not settings:
            return []
        engine = self.recipe.engine
        return [f"{self.name}: its generation_config.json has {settings}; {engine} may apply that to every answer"]

    @property
    def _checkpoint_facts(self) -> dict[str, str]:
        """What a served folder says that changes answers and that no request has: penalties, and its numbers."""
        config = _json_table(Path(self.model) / "config.json")
        generation = _json_table(Path(self.model) / "generation_config.json")
        penalties = [f"{name}={generation[name]}" for name in _PENALTIES if generation.get(name) not in (None, 0, 1)]
        facts = {
            "checkpoint's dtype": str(config.get("dtype") or config.get("torch_dtype") or ""),
            "checkpoint's generation_config": ", ".join(penalties),
        }
        return {name: value for name, value in facts.items() if value}

    @property
    def identity(self) -> str:
        """All of it that can change answers, whatever the port: the engine, its command, and its options."""
        # As the recipe has it: where Python lies, and which port was free, differs between machines.
        words = (*self.recipe.command, *self.words(0)[len(self.recipe.command) :])
        said = [f"{key}={value}" if value is not None else key for key, value in sorted(self.args.items())]
        return " ".join([self.recipe.engine, *said, sha256(repr(words).encode()).hexdigest()[:8]])


def served_run(settings: Settings) -> ServedRun | None:
    """What these settings serve; `None` without `--serve`. Raises `InputError`."""
    if settings.serve is None:
        if settings.serve_arg:
            raise InputError(
                "--serve-arg", settings.serve_arg[0].partition("=")[0], "there is no --serve that takes it"
            )
        return None
    if settings.base_url not in (None, os.environ.get(_ADDRESS)):  # that of the environment is for other runs
        raise InputError("--serve", settings.serve, "it is reached where it starts: leave out --base-url")
    if settings.batch_out or settings.batch_in:
        raise InputError("--serve", settings.serve, "batch files ask no server: leave it out, or --batch-out")
    if len(settings.model) > 1:
        remedy = "--serve starts one server, for one --model; needlework matrix runs several"
        raise InputError("--model", ", ".join(settings.model), remedy)
    recipe, args = find_recipe(settings.serve), parse_args(settings.serve_arg)
    model, tokenizer, weights = _model(recipe, settings.model[0])
    name = recipe.served_name or args.get("name") or _name(model)
    if settings.model[0] == _EMBEDDED:
        name = args.get("name") or _EMBEDDED
    found = ServedRun(recipe, args, model, name, tokenizer, weights)
    found.words(0)
    return found


def with_server(settings: Settings, served: ServedRun) -> Settings:
    """The settings of a run that asks this server: the model is one behind a server, whose address is not known yet."""
    return replace(
        settings,
        model=(f"openai:{served.name}",),
        base_url=None,
        tokenizer=settings.tokenizer or served.tokenizer,
        server_id=settings.server_id or served.identity,
    )


def _model(recipe: Recipe, spec: str) -> tuple[str, str | None, str]:
    """What the engine is given, the tokenizer's spec where it is known, and the spec whose weights are known."""
    kind, _, rest = spec.partition(":")
    if not any("{model}" in word for word in recipe.command):  # it knows its model
        return (_EMBEDDED, _EMBEDDED, "") if spec == _EMBEDDED else (rest or spec, None, "")
    if kind in ("openai", "mock"):
        raise InputError(
            "--model", spec, f"--serve {recipe.engine} wants what it is to serve: {_WANTED[recipe.serves]}"
        )
    if spec == _EMBEDDED and recipe.serves != "folder":
        return str(installed_gguf()), _EMBEDDED, _EMBEDDED
    name = rest if kind in ("hf", "gguf") and rest else spec
    path = Path(name).expanduser()
    is_gguf = path.suffix.lower() == ".gguf"
    if is_gguf and path.is_file() and recipe.serves != "folder":
        return str(path.resolve()), f"gguf:{path}", f"gguf:{path}"
    if path.is_dir() and recipe.serves != "gguf":
        return str(path.resolve()), str(path), f"hf:{path}"
    of_hub = not (spec == _EMBEDDED or is_gguf or name.startswith((".", "/", "~")) or name.count("/") > 1)
    if of_hub and recipe.serves != "gguf":
        return name, f"hf:{name}", ""
    there = "is none" if path.exists() or spec == _EMBEDDED else "is not there"
    raise InputError("--model", spec, f"{there}: for --serve {recipe.engine} {_WANTED[recipe.serves]}")


def _json_table(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def _name(model: str) -> str:
    """The last part of a path or of a hub's name, without the ending of a GGUF file."""
    name = model.rstrip("/").rpartition("/")[2]
    return name[: -len(".gguf")] if name.lower().endswith(".gguf") else name


class Serving:
    """Starts the server on the first call of `address`. Threads may share it.

    `folder`: gives the folder for its log. `given`: what a worker's controller says of the server (`handed_on`), empty
    where it started none; `None` in the process that starts it.
    """

    def __init__(self, served: ServedRun, folder: Callable[[], Path], given: str | None = None) -> None:
        self._served = served
        self._folder_of = folder
        self._given = json.loads(given or "{}") if given is not None else None
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._url: str | None = (self._given or {}).get("url")
        self._folder: Path | None = Path(self._given["folder"]) if self._given else None
        self.tell: Tell = lambda _seconds, _line: None

    @property
    def name(self) -> str:
        """The engine."""
        return self._served.recipe.engine

    @property
    def facts(self) -> dict[str, str]:
        """What a manifest tells of it."""
        return self._served.facts

    @property
    def notes(self) -> list[str]:
        """What the user is told before the run."""
        return self._served.notes

    @property
    def weights(self) -> str:
        """The spec of the model whose weights are served; empty where they are not known here."""
        return self._served.weights

    @property
    def started(self) -> bool:
        """Whether the server is there, or was."""
        return self._url is not None

    def check(self) -> None:
        """Refuse what cannot be started because it is not installed. Raises `InputError`."""
        check_installed(self._served.recipe, self._served.words(0))

    def address(self) -> str:
        """The server's base URL; it is started, and waited for, on the first call. Raises `InputError`."""
        with self._lock:
            if self._url is None:
                if self._given is not None:
                    remedy = "it was not started, as every answer seemed to be there; run again without -n"
                    raise InputError("--serve", self.name, remedy)
                self._start()
            return str(self._url)

    def ended(self) -> str:
        """How the server ended by itself; empty while it runs."""
        if self._folder is None:
            return ""
        if why := ended(self._folder):
            return why
        lost = self._child is not None and self._child.lost
        return f"the server was killed; run again to go on (log: {shown(self._folder)})" if lost else ""

    def last_lines(self, count: int) -> list[str]:
        """The end of its log."""
        return last_lines(self._folder / LOG, count) if self._folder is not None else []

    def handed_on(self) -> str:
        """What workers are told, see `given`; empty where it is not started."""
        return json.dumps({"url": self._url, "folder": str(self._folder)}) if self._url else ""

    def stop(self) -> None:
        """End the server, if this process has started it."""
        if self._child is not None:
            self._child.stop()

    def _start(self) -> None:
        self.check()
        port = free_port()
        recipe = self._served.recipe
        self._folder = self._folder_of()
        health = (recipe.health,) if recipe.health else USUAL_HEALTH
        self._child = Child(recipe.engine, self._served.words(port), port, health, self._folder, recipe.start_s)
        self._child.start(self.tell)
        self._url = f"http://127.0.0.1:{port}/v1"


LOG, ENDED = "log.txt", "ended.json"
_PORTS = range(20_000, 32_000)  # below those that systems give to outgoing connections
_STOP_S = 15.0  # the keeper's own grace is 10 s
_FAULTY_S = 60.0  # for which a server may answer its health check with errors before the user is told
_TAIL = 65_536  # bytes of the log that are looked at for its last lines
Tell = Callable[[float, str], None]


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise InputError("--serve", "a free port", "none of 100 tried ports of this machine is free; end some servers")


class Child:
    """One server of one run. `folder` gets its log; what stands there from earlier is kept."""

    def __init__(
        self, name: str, words: Sequence[str], port: int, health: Sequence[str], folder: Path, start_s: float
    ) -> None:
        self._name = name
        self._words = tuple(words)
        self._port = port
        self._health = health
        self._start_s = start_s
        self._folder = folder
        self._keeper: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Lock()

    def start(self, tell: Tell) -> None:
        """Start it and wait until it is healthy; `tell` is given the seconds so far and the log's last line.

        Raises `InputError` when it ends before, or takes longer than `start_s` seconds.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / ENDED).unlink(missing_ok=True)
        log = self._folder / LOG
        with log.open("ab") as file:
            file.write(f"== {time.strftime('%Y-%m-%d %H:%M:%S')} on port {self._port}\n".encode())
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", str(HERE / "keeper.py"), str(log), str(self._folder / ENDED), *self._words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for pytest alone, which then ends it
        )
        begun = failing_since = time.monotonic()
        try:
            while status := self._status():
                passed = time.monotonic() - begun
                failing_since = failing_since if status >= 500 else time.monotonic()
                failing_s = time.monotonic() - failing_since
                if why := ended(self._folder):
                    raise InputError("--serve", self._name, why)
                if self.lost:
                    raise InputError("--serve", self._name, "its process was killed; run again")
                if passed > self._start_s:
                    remedy = f"not healthy after {self._start_s:g} s; its log: {log}"
                    raise InputError("--serve", self._name, remedy)
                faulty = f"it answers HTTP {status} to {self._health[0]}; " if failing_s > _FAULTY_S else ""
                tell(passed, faulty + last_line(log))
                time.sleep(0.2 if passed < 10 else 1.0)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, whatever it does; returns when it is gone."""
        with self._stopping:
            keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.stdin is None:
            return
        with suppress(OSError):
            keeper.stdin.close()
        try:
            keeper.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()

    @property
    def lost(self) -> bool:
        """Whether what keeps the server was ended from outside, which ends the server too."""
        return self._keeper is not None and self._keeper.poll() is not None

    def _status(self) -> int:
        """0 where the server is ready; else what it answered, -1 for nothing."""
        status = -1
        for path in self._health:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
            try:
                connection.request("GET", path)
                status = connection.getresponse().status
            except (OSError, http.client.HTTPException):
                return -1
            finally:
                connection.close()
            if status < 400:
                return 0
        return status


def ended(folder: Path) -> str:
    """How the server of this folder ended by itself, with its log's last line; empty while it runs."""
    try:
        code = json.loads((folder / ENDED).read_text(encoding="ascii"))["code"]
    except (OSError, ValueError, KeyError):
        return ""
    rest = f"mend that, and run again to go on (log: {shown(folder)})"
    if code < 0:
        short = "; systems do that when memory is short" if code == -signal.SIGKILL else ""
        return f"the server was ended by signal {-code}{short}; {rest}"
    lines = last_lines(folder / LOG, 200)  # an engine's own processes may say much after the cause
    said = next((line for line in reversed(lines) if re.search("[Ee]rror|ERROR", line)), last_line(folder / LOG))
    return f"the server ended with code {code}: {printable(said, 200)}; {rest}"


def shown(folder: Path) -> Path:
    """The log's path, short where it lies below the current folder."""
    log = folder / LOG
    with suppress(ValueError, OSError):
        return log.relative_to(Path.cwd())
    return log


def last_line(log: Path) -> str:
    """The log's last line that is not empty."""
    return next(reversed(last_lines(log, 1)), "")


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of a log that are not empty, each as a terminal may show it."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    # Progress bars write over themselves.
    lines = [printable(line.rpartition("\r")[2] or line, 300) for line in text.split("\n") if line.strip()]
    return [line for line in lines if line][-count:]
