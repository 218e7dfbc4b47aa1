"""Trials for the tests of the statistics, and the published table of RULER."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from needlework.results.statistics.panels import Trial

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def ruler_table() -> dict[str, Any]:
    """RULER's published leaderboard; skips where the shared folder is absent."""
    folder = Path(os.environ.get("NEEDLEWORK_PARITY_RULER", ROOT.parent / "shared" / "parity" / "ruler"))
    path = folder / "leaderboard_table.json"
    if not path.is_file():
        pytest.skip(f"no RULER table at {path}; set NEEDLEWORK_PARITY_RULER to its folder")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


@pytest.fixture(scope="session")
def trials_of() -> Callable[..., list[Trial]]:
    """Make trials from rows of (length, depth, repeat, score); a score of `None` is an error."""

    def build(rows: Iterable[tuple[int, float | None, int, float | None]]) -> list[Trial]:
        return [
            Trial("mock", "niah", "code", length, depth, repeat, "error" if score is None else "partial", score)
            for length, depth, repeat, score in rows
        ]

    return build
