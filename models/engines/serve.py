"""The server of `--serve`: started when a cell needs it, watched, and ended with the run."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from msgspec.structs import replace

from needlework.core.errors import InputError, printable
from needlework.core.files import default_cache_dir
from needlework.core.settings import Settings
from needlework.models.checkpoints import json_table
from needlework.models.engines.recipes import HERE, Recipe, command, find_recipe, parse_args, shown_command
from needlework.models.specs import installed_gguf, prepare

LOG, ENDED = "log.txt", "ended.json"
_HEALTH = ("/health", "/v1/models")  # paths that show a server without a recipe to be ready
_PORTS = range(20_000, 32_000)  # below those that systems give to outgoing connections
_STOP_S = 15.0  # the keeper's own grace is 10 s
_TAIL = 2**20  # bytes of the log that are looked at for its last lines


class Serving:
    """One server of one run; threads may share it.

    `folder` gives the folder for its log. `handed_on`: what a worker's controller says of the server, empty where it
    started none; `None` in the process that starts it. `tell` is given the seconds since the start, and the log's last
    line.
    """

    def __init__(self, served: ServedRun, folder: Callable[[], Path], handed_on: str | None = None) -> None:
        self.served = served
        self._new_folder = folder
        self._is_worker = handed_on is not None
        self._url = handed_on or None
        self._folder = folder() if handed_on else None
        self._starting = threading.Lock()
        self._keeper: subprocess.Popen[bytes] | None = None
        self.tell: Callable[[float, str], None] = lambda _seconds, _line: None

    @property
    def name(self) -> str:
        """The engine."""
        return self.served.recipe.engine

    def handed_on(self) -> str:
        """The address for workers; empty until the server is started."""
        return self._url or ""

    def check(self) -> None:
        """Refuse what cannot be started because it is not installed. Raises `InputError`."""
        recipe, program = self.served.recipe, self.served.words(0)[0]
        if recipe.needs and find_spec(recipe.needs) is None:
            raise InputError("--serve", self.name, f"{recipe.needs} is not installed: {recipe.install}")
        if shutil.which(program) is None:
            remedy = recipe.install or "give its whole path"
            raise InputError("--serve", self.name, f"there is no program {program} on PATH: {remedy}")

    def address(self) -> str:
        """The server's base URL; it is started, and waited for, on the first call. Raises `InputError`."""
        with self._starting:
            if self._url is None:
                if self._is_worker:
                    remedy = "it was not started, as every answer seemed to be there; run again without -n"
                    raise InputError("--serve", self.name, remedy)
                self.check()
                port = free_port()
                self._start(port)
                self._url = f"http://127.0.0.1:{port}/v1"
            return self._url

    def _start(self, port: int) -> None:
        """Start it and wait until it is healthy. Raises `InputError` when it ends before, or takes too long."""
        self._folder = folder = self._new_folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ENDED).unlink(missing_ok=True)
        log = folder / LOG
        with log.open("ab") as file:
            file.write(f"{_STARTED}{time.strftime('%Y-%m-%d %H:%M:%S')} on port {port}\n".encode())
        keeper = [sys.executable, "-I", str(HERE / "keeper.py"), str(log), str(folder / ENDED)]
        self._keeper = subprocess.Popen(
            [*keeper, *self.served.words(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for pytest alone, which then ends it
        )
        recipe = self.served.recipe
        health = (recipe.health,) if recipe.health else _HEALTH
        begun = time.monotonic()
        try:
            while not any(_is_healthy(port, path) for path in health):
                now = time.monotonic()
                if why := self.ended():
                    raise InputError("--serve", self.name, why)
                if now - begun > recipe.start_s:
                    raise InputError("--serve", self.name, f"not healthy after {recipe.start_s:g} s; its log: {log}")
                self.tell(now - begun, "".join(last_lines(log, 1)))
                time.sleep(0.2 if now - begun < 10 else 1.0)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, if this process has started it, whatever it does; returns when it is gone."""
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

    def ended(self) -> str:
        """The way in which the server ended by itself; empty while it runs."""
        if self._folder is None:
            return ""
        log = self._folder / LOG
        with suppress(ValueError, OSError):
            log = log.relative_to(Path.cwd())
        rest = f"mend that, and run again to go on (log: {log})"
        try:
            code = json.loads((self._folder / ENDED).read_text(encoding="ascii"))["code"]
        except (OSError, ValueError, KeyError):
            is_lost = self._keeper is not None and self._keeper.poll() is not None
            return f"its process was killed; run again to go on (log: {log})" if is_lost else ""
        if code < 0:
            short = "; systems do that when memory is short" if code == -signal.SIGKILL else ""
            return f"the server was ended by signal {-code}{short}; {rest}"
        return f"the server ended with code {code}: {_cause(self.last_lines(4000))}; {rest}"

    def last_lines(self, count: int) -> list[str]:
        """The end of its log."""
        return last_lines(self._folder / LOG, count) if self._folder is not None else []


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise InputError("--serve", "a free port", "none of 100 tried ports of this machine is free; end some servers")


def _is_healthy(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


_STARTED = "== "  # begins the line that stands before a server's own lines
_CONSEQUENCE = re.compile(r"root cause|EngineDead|Cancelled|shut(ting)? ?down", re.IGNORECASE)


def _cause(lines: list[str]) -> str:
    """The line that says why a server ended: an engine's other processes may say much after it."""
    starts = [at for at, line in enumerate(lines) if line.startswith(_STARTED)]
    lines = lines[starts[-1] + 1 :] if starts else lines
    errors = [line for line in lines if "error" in line.lower() and not _CONSEQUENCE.search(line)]
    return printable(next(reversed(errors or lines), "without a word"), 200)


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of a log that are not empty, each as a terminal may show it."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    # Progress bars write over themselves.
    rows = [line for line in text.split("\n") if line.strip()][-count:]
    return [line for row in rows if (line := printable(row.rpartition("\r")[2] or row, 300))]


_EMBEDDED = "smollm2"
_ADDRESS = "NEEDLEWORK_BASE_URL"
_PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty", "no_repeat_ngram_size")
_REMEDY_FOR = {
    "gguf": "give a GGUF file, --model FILE.gguf",
    "folder": "give --model FOLDER, or a name of the hub",
    "any": "give --model FOLDER, FILE.gguf, or a name of the hub",
}


@dataclass(frozen=True, slots=True)
class ServedRun:
    """The server that `--serve` starts."""

    recipe: Recipe
    args: Mapping[str, str | None]
    model: str  # what the engine is given
    name: str  # what requests call it
    tokenizer: str | None
    weights: str  # spec of those in the resume key; empty for a name of the hub, which the engine fetches

    def words(self, port: int | str) -> tuple[str, ...]:
        """The command line. Raises `InputError`."""
        return command(self.recipe, self.args, model=self.model, name=self.name, port=port)

    @property
    def facts(self) -> dict[str, str]:
        """The server's manifest entry: engine, version if it is a package of ours, whole command."""
        version = f" {metadata.version(self.recipe.needs)}" if self.recipe.needs else ""
        facts = {"server": f"--serve {self.recipe.engine}{version}", "command": shown_command(self.words("{port}"))}
        return facts | self._checkpoint_facts

    @property
    def notes(self) -> list[str]:
        """Notes before the run: the checkpoint's own settings may change greedy decoding."""
        settings = self._checkpoint_facts.get("checkpoint's generation_config")
        note = f"generation_config.json has {settings}; {self.recipe.engine} may apply that to every answer"
        return [f"{self.name}: its {note}"] if settings else []

    @property
    def _checkpoint_facts(self) -> dict[str, str]:
        """Settings of a served folder that change answers unseen: penalties, and its dtype."""
        config = json_table(Path(self.model) / "config.json")
        generation = json_table(Path(self.model) / "generation_config.json")
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
        recipe = replace(self.recipe, reports=())
        words = command(recipe, self.args, model=self.model, name=self.name, port=0)
        words = (*recipe.command, *words[len(recipe.command) :])
        args = [f"{key}={value}" if value is not None else key for key, value in sorted(self.args.items())]
        return " ".join([recipe.engine, *args, sha256(repr(words).encode()).hexdigest()[:8]])


def served_run(settings: Settings) -> ServedRun | None:
    """The server of these settings; `None` without `--serve`. Raises `InputError`."""
    if settings.serve is None:
        if settings.serve_arg:
            name = settings.serve_arg[0].partition("=")[0]
            raise InputError("--serve-arg", name, "there is no --serve that takes it")
        return None
    if settings.base_url not in (None, os.environ.get(_ADDRESS)):  # that of the environment is for other runs
        raise InputError("--serve", settings.serve, "it is reached where it starts: leave out --base-url")
    if settings.batch_out or settings.batch_in:
        raise InputError("--serve", settings.serve, "batch files ask no server: leave it out, or --batch-out")
    if len(settings.model) > 1:
        remedy = "--serve starts one server, for one --model; needlework matrix runs several"
        raise InputError("--model", ", ".join(settings.model), remedy)
    recipe, args = find_recipe(settings.serve), parse_args(settings.serve_arg)
    spec = settings.model[0]
    model, tokenizer, weights = _model(recipe, spec)
    # The last part of a path or of a hub's name, without the ending of a GGUF file.
    name = _EMBEDDED if spec == _EMBEDDED else re.sub(r"(?i)\.gguf$", "", model.rstrip("/").rpartition("/")[2])
    served = ServedRun(recipe, args, model, recipe.served_name or args.get("name") or name, tokenizer, weights)
    served.words(0)
    return served


def with_server(settings: Settings, served: ServedRun) -> Settings:
    """The settings of a run that asks this server: a served model, whose address is not known yet."""
    return replace(
        settings,
        model=(f"openai:{served.name}",),
        base_url=None,
        tokenizer=settings.tokenizer or served.tokenizer,
        server_id=settings.server_id or served.identity,
    )


def _model(recipe: Recipe, spec: str) -> tuple[str, str | None, str]:
    """The engine's model, the tokenizer's spec if known, and the spec of the weights if known."""
    kind, _, rest = spec.partition(":")
    if not any("{model}" in word for word in recipe.command):  # it knows its model
        return (_EMBEDDED, _EMBEDDED, "") if spec == _EMBEDDED else (rest or spec, None, "")
    remedy = f"for --serve {recipe.engine} {_REMEDY_FOR[recipe.serves]}"
    if kind in ("openai", "mock"):
        raise InputError("--model", spec, f"is no model that can be served: {remedy}")
    if spec == _EMBEDDED:
        path = prepare(default_cache_dir()) if recipe.serves == "folder" else installed_gguf()
        return str(path), _EMBEDDED, _EMBEDDED
    name = rest if kind in ("hf", "gguf") and rest else spec
    path = Path(name).expanduser()
    is_gguf = path.suffix.lower() == ".gguf"
    if is_gguf and path.is_file() and recipe.serves != "folder":
        return str(path.resolve()), f"gguf:{path}", f"gguf:{path}"
    if path.is_dir() and recipe.serves != "gguf":
        return str(path.resolve()), str(path), f"hf:{path}"
    of_hub = not (is_gguf or name.startswith((".", "/", "~")) or name.count("/") > 1)
    if of_hub and recipe.serves != "gguf":
        return name, f"hf:{name}", ""
    raise InputError("--model", spec, f"{'is none' if path.exists() else 'is not there'}: {remedy}")
