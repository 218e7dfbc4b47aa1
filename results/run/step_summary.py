"""The table on a GitHub run's page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.results.gates.report import markdown_rows
from needlework.results.gates.verdict import Verdict
from needlework.results.statistics.gate_row import selection_words

if TYPE_CHECKING:
    from needlework.results.statistics.run_report import RunReport


def write_step_summary(report: RunReport | None, verdicts: Sequence[Verdict]) -> None:
    """Gates and overall scores for the page of a GitHub run."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path or report is None:
        return
    from needlework.results.tables.run import markdown_lines

    lines = ["## Needlework", "", *markdown_lines(report)]
    if verdicts:
        selection = selection_words(report.gates, len(report.records))
        lines += ["", *markdown_rows(verdicts), *(["", selection] if selection else [])]
    with suppress(OSError), Path(path).open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n\n")
