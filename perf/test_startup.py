"""Time from Enter to the first question: seconds, and CPU seconds, of whole processes.

Arms take turns; the first turn, which writes caches, is not counted. `pytest` on one empty test, from the same folder
with the same plug-ins, is the floor under every run. The plug-ins of Hypothesis and AnyIO, which here load what only
developers have, are left out, and settings of this shell that a user's has not.

The seconds of a run end where its first question begins: with the first request for an answer that reaches a server on
this machine, or with the model's first call. The process is ended there.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Event, Thread

from needlework.core.files import default_cache_dir
from needlework.models.specs import prepare
from perf.arms import child_cpu_seconds, users_environment

ROOT = Path(__file__).parent.parent
ROUNDS = 5
FLAGS = ("-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
# Ends the process where the model is asked: `METHOD` of `CLASS` in `MODULE`.
AT_FIRST_QUESTION = """
import os, sys
from importlib import import_module
import pytest

module, name, method, *words = sys.argv[1:]

class AtFirstQuestion:
    def pytest_collection_finish(self):
        setattr(getattr(import_module(module), name), method, lambda *_: os._exit(0))

pytest.main(words, plugins=[AtFirstQuestion()])
sys.exit("no question was asked")
"""
MODELS = "needlework.models"
MOCK = (f"{MODELS}.mock", "MockModel", "respond", "--model=mock:perfect")
EMBEDDED = (f"{MODELS}.local.model", "LocalModel", "respond_many", "--model=smollm2")
LOAD = f"""
from needlework.core.files import default_cache_dir
from {MODELS}.served.connection import ServerOptions
from {MODELS}.specs import load_model, resolve_tokenizer
folder = default_cache_dir()
tokenizer = resolve_tokenizer("smollm2", {{}}, None, folder)
given = {{"model_args": {{}}, "tokenizer": tokenizer, "connection": ServerOptions(), "cache_dir": folder, "threads": 1}}
load_model("smollm2", longest=4000, **given)
"""


@dataclass(frozen=True)
class Taken:
    """Seconds on the clock, and of processors."""

    wall_s: float
    cpu_s: float


def whole(command: Sequence[str]) -> Taken:
    """A process from its start to its end."""
    begun = time.perf_counter()
    cpu_s, _ = child_cpu_seconds(command, cwd=ROOT, env=users_environment())
    return Taken(time.perf_counter() - begun, cpu_s)


class _AnyServer(BaseHTTPRequestHandler):
    """Knows no question about itself, and leaves the first request for an answer unanswered."""

    was_asked: Event

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        if self.path.endswith("/chat/completions"):
            self.was_asked.set()
            time.sleep(5)  # the process is ended before
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def until_asked(folder: Path) -> Taken:
    """A run on a server, from its start to the first request for an answer."""
    was_asked = Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Server", (_AnyServer,), {"was_asked": was_asked}))
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    words = ["--model=openai:gpt-4", f"--base-url=http://127.0.0.1:{server.server_port}/v1", f"--results-dir={folder}"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "benchmarks", *FLAGS, *words],
        cwd=ROOT,
        env=users_environment(),
        stdout=subprocess.DEVNULL,
    )
    came = was_asked.wait(60)
    wall_s = time.perf_counter() - begun
    process.kill()
    process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    server.shutdown()
    server.server_close()
    assert came
    return Taken(wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def in_turn(arms: Mapping[str, Callable[[], Taken]]) -> dict[str, Taken]:
    """The medians of each arm."""
    taken: dict[str, list[Taken]] = {name: [] for name in arms}
    for round_ in range(ROUNDS + 1):
        for name, arm in arms.items():
            seconds = arm()
            taken[name] += [seconds] if round_ else []
    return {
        name: Taken(median(each.wall_s for each in times), median(each.cpu_s for each in times))
        for name, times in taken.items()
    }


def test_from_enter_to_the_first_question(tmp_path: Path, perf_row: Callable[..., None]) -> None:
    prepare(default_cache_dir())
    (tmp_path / "test_empty.py").write_text("def test_empty(): pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    python = (sys.executable, "-c", AT_FIRST_QUESTION)
    words = ("benchmarks", *FLAGS, f"--results-dir={tmp_path}")
    empty = ("-m", "pytest", *FLAGS, "-c", str(tmp_path / "pytest.ini"), str(tmp_path / "test_empty.py"))
    medians = in_turn(
        {
            "needlework --help": partial(whole, [sys.executable, "-m", "needlework", "--help"]),
            "pytest on one empty test": partial(whole, [sys.executable, *empty]),
            "first question to mock:perfect": partial(whole, [*python, *MOCK[:3], *words, MOCK[3]]),
            "first question to a server": partial(until_asked, tmp_path),
            "first question to the embedded model": partial(whole, [*python, *EMBEDDED[:3], *words, EMBEDDED[3]]),
        }
    )
    aims = {"needlework --help": 0.1, "first question to the embedded model": 6.0, "pytest on one empty test": None}
    floor = medians["pytest on one empty test"]
    for what, taken in medians.items():
        above = f"; pytest on one empty test takes {floor.wall_s:.2f} ({floor.cpu_s:.2f} CPU)"
        perf_row(
            what=what,
            ours=taken.wall_s,
            unit="s",
            target=aims.get(what, 1.0),
            note=f"{taken.cpu_s:.2f} CPU s{above if what.startswith('first') else ''}; median of {ROUNDS}",
        )


def test_the_embedded_model_alone(perf_row: Callable[..., None]) -> None:
    prepare(default_cache_dir())
    seconds = in_turn({"": partial(whole, [sys.executable, "-c", LOAD])})[""]
    perf_row(
        what="embedded model loaded and tried out, new process, imports included",
        ours=seconds.cpu_s,
        unit="CPU s",
        target=6,
        note=f"{seconds.wall_s:.2f} s on the clock; median of {ROUNDS}",
    )
