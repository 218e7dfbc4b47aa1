"""The end of a run: files, report, exit status."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from needlework.core.files import write_whole
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.results.files.csv_files import cells_text, csv_text
from needlework.results.files.json_files import SUMMARY, json_bytes, summary_object, write_json
from needlework.results.files.read_run import report_with
from needlework.results.html.report import html_text
from needlework.results.pictures.files import write_charts
from needlework.results.records.run_folder import PICTURES
from needlework.results.report.sections import run_charts
from needlework.results.report.tasks import gate_sections
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.tasks import GateRow
from needlework.results.style import ColorsName


class Finished(Struct, frozen=True):
    """A run's report, and its files."""

    report: RunReport
    files: tuple[Path, ...]


def finish(
    folder: Path,
    records: Sequence[Record],
    settings: Settings,
    *,
    planned: int,
    gates: Sequence[GateRow] = (),
    series: Sequence[Series] = (),
    notes: Sequence[str] = (),
    manifest: Mapping[str, Any] | None = None,
) -> Finished:
    """Write every file of the run with these `records`, of `planned` trials, into `folder`.

    `series`: those of an adaptive run's tests; `notes`: sentences on the run; `manifest`: how it was made.
    Raises `OSError` or `InputError` where they cannot be written.
    """
    report = report_with(
        settings,
        records,
        series,
        planned=planned,
        notes=notes,
        gates=gates,
        sending=tuple(sending_notes(settings)),
        facts=run_facts(manifest, folder.resolve().name) if manifest else None,
    )
    files = write_files(folder, report, settings.heatmap_colors, numbers=settings.heatmap_numbers)
    return Finished(report, files)


FILES = ("report.html", "results.json", SUMMARY, "results.csv", "cells.csv")


def write_files(
    folder: Path, report: RunReport, colors: ColorsName = "viridis", *, numbers: bool = False
) -> tuple[Path, ...]:
    """Write all files in `FILES`, and the pictures; return their paths.

    Pictures of an earlier run with other options are removed. Raises `OSError` when the folder cannot take them.
    """
    page, json, summary, rows, cells = paths = [folder / name for name in FILES]
    write_json(json, report)
    write_whole(summary, json_bytes(summary_object(report)))
    write_whole(rows, csv_text(report.records).encode())
    write_whole(cells, cells_text(report.panels).encode())
    write_whole(page, html_text(report, colors=colors).encode())
    pictures = write_charts(run_charts(report, colors, numbers=numbers), folder)
    for pattern in PICTURES:
        for old in set(folder.glob(pattern)) - set(pictures):
            old.unlink()
    return (*paths, *pictures)


_HERE = ("smollm2", "hf", "gguf")


def sending_notes(settings: Settings) -> Iterator[str]:
    """A sentence for models on this machine, and one for servers that were asked several requests at once."""
    kinds = {spec.partition(":")[0] for spec in settings.model}
    if kinds & set(_HERE):
        yield "a model on this machine works on prompts together: a time is one prompt's share of that of all"
    if kinds - {*_HERE, "mock"} and settings.concurrency > 1:
        at_once = f"up to {settings.concurrency} requests at once (--concurrency)"
        yield f"{at_once}: a time has the wait in the server's queue in it; --concurrency 1 measures a request alone"


def write_step_summary(report: RunReport | None) -> None:
    """Gates and overall scores for the page of a GitHub run."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path or report is None:
        return
    from needlework.results.tables.terminal import markdown_lines, table

    lines = ["## Needlework", "", *markdown_lines(report)]
    for section in gate_sections(report.gates, len(report.records)):
        lines += ["", *table(section.tables[0].head, section.tables[0].rows), "", *section.notes]
    with suppress(OSError), Path(path).open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n\n")
