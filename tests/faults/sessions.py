"""Real runs of the harness (`pytest benchmarks ...`) in processes that keep what they imported."""

import contextlib
import io
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.faults.grid import ROOT

# What these runs do not need; the last would collect garbage twice a run.
_UNUSED = ("cacheprovider", "hypothesispytest", "unraisableexception")


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over: its exit code, what it printed, and its records."""

    status: int
    output: str
    records: list[dict[str, Any]] = field(default_factory=list)


def pool(workers):
    """Processes for `session`. Spawned: a server's threads must not be forked."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_settle)


def _settle():
    from needlework.results.run import finish

    finish.write_charts = lambda *_, **__: []  # nobody looks at them, and they take longer than a run
    os.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "OPENAI_", "GITHUB_", "COV_"))]:
        del os.environ[name]


def session(args):
    """Run `pytest benchmarks/test_niah.py` with these options, results in a folder that is gone afterwards."""
    import pytest

    with tempfile.TemporaryDirectory(prefix="faults-") as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(out):
            quiet = ("-q", *(f"-pno:{name}" for name in _UNUSED))
            where = (f"--results-dir={folder}", "--run-name=r")
            status = pytest.main(["benchmarks/test_niah.py", *quiet, *where, *args])
        results = Path(folder) / "r" / "results.json"
        records = json.loads(results.read_text(encoding="utf-8"))["records"] if results.exists() else []
    return Ran(int(status), out.getvalue(), records)
