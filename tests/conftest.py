"""Shared fixtures of the harness's own tests."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).parent.parent

# How long an example takes says how busy the machine is; tests that measure say so themselves.
hypothesis.settings.register_profile("needlework", deadline=None)
hypothesis.settings.load_profile("needlework")

# These tests start hundreds of processes. Where this is set, each of them would compile and rewrite everything again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Neighbours stay on one worker, so that what a module's tests share is made once; idle workers take some over."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(scope="session")
def parity() -> Any:
    """Read a file of results that the original systems computed; skips where the shared folder is absent."""
    folder = Path(os.environ.get("NEEDLEWORK_PARITY", ROOT.parent / "shared" / "parity" / "niah"))

    def read(name: str) -> list[dict[str, Any]]:
        if not folder.is_dir():
            pytest.skip(f"no parity data at {folder}; set NEEDLEWORK_PARITY to its folder")
        cases: list[dict[str, Any]] = json.loads((folder / name).read_text(encoding="utf-8"))["cases"]
        return cases

    return read
