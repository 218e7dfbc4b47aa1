"""Recorded runs: `read_run` reads one, with its records and its report. Imports are lazy.

>>> from needlework.results import read_run
>>> run = read_run("results/runs/nightly")  # doctest: +SKIP
>>> [(panel.name, panel.overall.mean, panel.overall.n) for panel in run.panels]  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from needlework.core.record import Record
    from needlework.results.files.read_run import Run, read_run
    from needlework.results.statistics.run_report import RunReport

_HOME = {
    "Record": "needlework.core.record",
    "Run": "needlework.results.files.read_run",
    "RunReport": "needlework.results.statistics.run_report",
    "read_run": "needlework.results.files.read_run",
}
__all__ = ["Record", "Run", "RunReport", "read_run"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
