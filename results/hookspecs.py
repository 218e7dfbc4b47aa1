"""Hooks of a run's results that a `conftest.py` or a plugin may implement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from needlework.results.records.record import Record

if TYPE_CHECKING:
    from needlework.results.statistics.run_report import RunReport


@pytest.hookspec
def pytest_needlework_recorded(config: pytest.Config, record: Record) -> None:
    """A trial has ended, and this is its record. Called in the process that writes the results, in the order of ends.

    A record that is changed here is changed in every file but the journal; most want to look only::

        def pytest_needlework_recorded(config, record):
            if record["outcome"] == "error":
                print(record["id"], record["why"])
    """


@pytest.hookspec
def pytest_needlework_written(config: pytest.Config, report: RunReport, folder: Path) -> None:
    """The files of a run are written to `folder`; `report` is what they were written from. Called once a session that
    ran a cell, also where it was interrupted (`report.planned` is then more than its records)::

        def pytest_needlework_written(config, report, folder):
            rows = [f"{panel.name}\t{panel.overall.mean}\t{panel.overall.n}" for panel in report.panels]
            (folder / "scores.tsv").write_text("\\n".join(rows) + "\\n", encoding="utf-8")
    """
