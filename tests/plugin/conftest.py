"""A project of a user's, with one benchmark file and the harness as its plugins; runs in processes of their own."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from needlework.core.files import default_cache_dir

# An in-process run forgets what it imported. These cannot be imported twice, or it takes long.
for name in (
    *("aiohttp", "hypothesis", "scipy.stats", "tiktoken_ext.openai_public", "tokenizers", "xdist.dsession"),
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure", "xdist.workermanage"),
    *(f"needlework.pytest_plugin.{module}" for module in ("last_lines", "scheduling")),
    *(f"needlework.results.{module}" for module in ("gates.gatekeeper", "html.report", "tables.terminal")),
    *("needlework.results.run.checks", "needlework.results.run.finish", "needlework.scoring.recording"),
):
    import_module(name)

# pytester gives each test a home folder of its own; converting the embedded model for each would take minutes.
CACHE = default_cache_dir()
ROOT = Path(__file__).parents[2]
GRID = ("--lengths=400,600", "--depths=0,50,100", "--corpus=pydoc")


_TEST = """@pytest.mark.cells("{family}")
def test_{family}(cell, generate, assert_scored{more}):
{body}
"""


def without_timing(records: list[dict]) -> list[dict]:
    return [{key: value for key, value in record.items() if key != "timing"} for record in records]


def comparable(results: dict) -> dict:
    """What results.json has alike in two runs of the same cells: no times, and nothing of what the manifest knew."""
    fields = {key: value for key, value in results.items() if key not in ("latency", "run", "models")}
    return fields | {"records": without_timing(results["records"])}


class Project:
    """Runs `pytest` in the user's project and reads what it wrote."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.runs = Path(pytester.path) / "results" / "runs"

    def run(self, *args: str, model: str = "mock:perfect", name: str = "r", process: bool = False) -> pytest.RunResult:
        gc.unfreeze()  # or the run would first look through all objects of the tests
        run = self.pytester.runpytest_subprocess if process else self.pytester.runpytest_inprocess
        named = () if any(arg.startswith("--run-name") for arg in args) else (f"--run-name={name}",)
        # syrupy, which the harness's own tests use, puts its own exit code over that of a run.
        quick = ("-pno:cacheprovider", "-pno:syrupy", *(["-pno:hypothesispytest"] * process))
        # Every table is in what tests read; tests/plugin/running/test_running.py has the short end that users see.
        whole = () if any(re.fullmatch(r"-[qv]+", arg) for arg in args) else ("-v",)
        return run(*quick, *whole, *GRID, f"--model={model}", *named, *args)

    def asks(self, *families: str) -> None:
        """Write the project's one benchmark file; it asks the cells of these families."""
        tests = [_TEST.format(family=family, more="", body="    assert_scored(generate(cell))") for family in families]
        self.pytester.makepyfile(test_needles="\n\n".join(["import pytest\n", *tests]))

    def test_does(self, *lines: str, more_fixtures: str = "", imports: str = "pytest") -> None:
        """Make the one benchmark file a test `test_niah` of these lines, with the fixtures of every test of cells."""
        more = f", {more_fixtures}" if more_fixtures else ""
        test = _TEST.format(family="niah", more=more, body="\n".join(f"    {line}" for line in lines))
        self.pytester.makepyfile(test_needles=f"import pytest, {imports}\n\n\n{test}")

    def has_hooks(self, code: str) -> None:
        """Add these hooks to the project's conftest.py."""
        self.pytester.makeconftest(f'pytest_plugins = ("needlework.plugin",)\n\n{dedent(code)}')

    def records(self, name: str = "r") -> list[dict]:
        return self.json("results.json", name)["records"]

    def journal(self, name: str = "r") -> list[dict]:
        """Its records so far."""
        path = self.runs / name / "journal.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]] if path.exists() else []

    def killed(self, of: str, lines: int) -> None:
        """Make the run `r` of what another one leaves if it is killed: so many lines of its journal, and a torn one."""
        whole = (self.runs / of / "journal.jsonl").read_bytes().splitlines(keepends=True)
        (self.runs / "r").mkdir()
        (self.runs / "r" / "journal.jsonl").write_bytes(b"".join(whole[:lines]) + whole[lines][:40])

    def json(self, name: str, run: str = "r") -> dict:
        return json.loads(self.file(name, run))

    def file(self, name: str, run: str = "r") -> str:
        return (self.runs / run / name).read_text(encoding="utf-8")


@pytest.fixture
def pictures() -> None:
    """Runs of a test that asks for this draw their charts: it takes longer than all the rest of a run."""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Project:
    monkeypatch.setenv("NEEDLEWORK_CACHE", str(CACHE))
    monkeypatch.setenv("COLUMNS", "240")  # what is told stays on one line
    if "pictures" not in request.fixturenames:
        monkeypatch.setattr("needlework.results.run.finish.write_charts", lambda *_, **__: [])
    pytester.makeconftest('pytest_plugins = ("needlework.plugin",)')
    pytester.makeini("[pytest]\naddopts = --import-mode=importlib\n")
    made = Project(pytester)
    made.asks("niah")
    return made


def start(folder: Path, *words: str, program: tuple[str, ...] = ("pytest",)) -> subprocess.Popen[str]:
    """`pytest` in this folder, in a session of its own: it can be killed with everything that it started."""
    if program == ("pytest",):
        program = ("pytest", "-pno:cacheprovider", "-pno:hypothesispytest", "-pno:syrupy")
    return subprocess.Popen(
        [sys.executable, "-m", *program, *words],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip


def output_of(process: subprocess.Popen[str], timeout_s: float = 300) -> str:
    """Wait for its end."""
    text, _ = process.communicate(timeout=timeout_s)
    return text


def kill(process: subprocess.Popen[str]) -> None:
    """`kill -9`, of all that it has started too."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_until(is_so: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until it is so, or the process has ended; three minutes are enough for any machine."""
    until = time.monotonic() + 180
    while not is_so() and (process is None or process.poll() is None):
        assert time.monotonic() < until, "it never was so"
        time.sleep(0.005)
