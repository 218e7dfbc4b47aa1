"""A project of a user's, with one benchmark file and the harness as its plugins."""

import gc
import json
import re
from pathlib import Path

# An in-process run forgets what it imported. These cannot be imported twice, or it takes long.
import hypothesis  # noqa: F401
import matplotlib.backends.backend_agg
import matplotlib.figure  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import tiktoken  # noqa: F401
import tokenizers  # noqa: F401

import needlework.models.tokenizers.tokenizer
import needlework.results.html.report  # noqa: F401
from needlework.core.files import default_cache_dir
from tests.llama_server import llama_server  # noqa: F401 - a fixture

# pytester gives each test a home folder of its own; converting the embedded model for each would take minutes.
CACHE = default_cache_dir()
GRID = ("--lengths=400,600", "--depths=0,50,100", "--corpus=pydoc")


class Project:
    """Runs `pytest` in the user's project and reads what it wrote."""

    def __init__(self, pytester):
        self.pytester = pytester
        self.runs = Path(pytester.path) / "results" / "runs"

    def run(self, *args, model="mock:perfect", name="r", process=False):
        gc.unfreeze()  # or the run would first look through all objects of the tests
        run = self.pytester.runpytest_subprocess if process else self.pytester.runpytest_inprocess
        named = () if any(arg.startswith("--run-name") for arg in args) else (f"--run-name={name}",)
        quick = ("-p", "no:cacheprovider", *(("-p", "no:hypothesispytest") if process else ()))
        # Every table is in what tests read; tests/plugin/results/test_short_ending.py has the short end that users see.
        whole = () if any(re.fullmatch(r"-[qv]+", arg) for arg in args) else ("-v",)
        return run(*quick, *whole, *GRID, f"--model={model}", *named, *args)

    def asks(self, *families):
        """Write the project's one benchmark file; it asks the cells of these families."""
        tests = [
            f'@pytest.mark.cells("{family}")\ndef test_{family}(cell, generate, assert_scored):\n'
            "    assert_scored(generate(cell))\n"
            for family in families
        ]
        self.pytester.makepyfile(test_needles="\n\n".join(["import pytest\n", *tests]))

    def records(self, name="r"):
        return json.loads((self.runs / name / "results.json").read_text(encoding="utf-8"))["records"]

    def journal(self, name="r"):
        lines = (self.runs / name / "journal.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def killed(self, of, lines):
        """Make the run `r` of what another one leaves if it is killed: so many lines of its journal, and a torn one."""
        whole = (self.runs / of / "journal.jsonl").read_bytes().splitlines(keepends=True)
        (self.runs / "r").mkdir()
        (self.runs / "r" / "journal.jsonl").write_bytes(b"".join(whole[:lines]) + whole[lines][:40])

    def file(self, name, run="r"):
        return (self.runs / run / name).read_text(encoding="utf-8")


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.setenv("NEEDLEWORK_CACHE", str(CACHE))
    monkeypatch.setenv("COLUMNS", "240")  # what is told stays on one line
    pytester.makeconftest('pytest_plugins = ("needlework.plugin",)')
    pytester.makeini("[pytest]\naddopts = --import-mode=importlib\n")
    made = Project(pytester)
    made.asks("niah")
    return made
