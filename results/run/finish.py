"""The end of a run: from its records to its report and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.haystack_fixtures.tasks.documents.votes import votes_by_embeddings, votes_of
from needlework.results.pictures.panel import Style
from needlework.results.records.answer_vectors import read_vectors
from needlework.results.records.record import Record
from needlework.results.run.sending import sending_notes
from needlework.results.run.write_all import write_files
from needlework.results.statistics.adaptive import adaptive_statements
from needlework.results.statistics.gate_row import GateRow
from needlework.results.statistics.length.base import parse_relative_to
from needlework.results.statistics.published.needlebench import design_of
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_report import RunReport, run_report


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run's records say, and the files that say it."""

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
    """Write every file of the run whose `records` these are, of `planned` trials, into `folder`; `series`: those that
    an adaptive run asked. `notes`: what else is to be said of the run, a sentence each; `manifest`: how it was made.

    Raises `OSError` or `InputError` where they cannot be written.
    """
    report = run_report(
        list(records),
        design=design_of(settings),
        vote=votes_of(settings.suites),
        vectors=read_vectors(folder) if votes_by_embeddings(settings.suites) else None,
        relative_to=parse_relative_to(settings.relative_to),
        planned=planned,
        notes=notes,
        gates=gates,
        adaptive=adaptive_statements(settings, records, series),
        sending=tuple(sending_notes(settings, manifest)),
        facts=run_facts(manifest, folder.resolve().name) if manifest else None,
    )
    style = Style(colors=settings.heatmap_colors, numbers=settings.heatmap_numbers)
    return Finished(report, write_files(folder, report, style))
