"""What a merge says at its end in the terminal: what a run says."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.gates.report import gate_lines
from needlework.results.merge.judged import Judged
from needlework.results.merge.parts import Part
from needlework.results.run.finish import Finished
from needlework.results.statistics.gate_row import selection_words
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.fold import folded
from needlework.results.style.text import relative
from needlework.results.tables.run import next_line, run_lines
from needlework.results.tables.shared_tokens import shared_lines
from needlework.results.tables.short import ending
from needlework.results.tables.unscored import unscored_lines


def tell(
    finished: Finished,
    judgement: Judged,
    settings: Settings,
    windows: Mapping[str, int],
    into: Path,
    parts: Sequence[Part],
    *,
    verbose: bool,
) -> None:
    """Print the run in short, and its gates; `verbose`: all heatmaps, tables and files. `windows`: model -> tokens."""
    report = finished.report
    width = shutil.get_terminal_size().columns
    color, encoding, colors = sys.stdout.isatty(), sys.stdout.encoding, settings.heatmap_colors
    selection = selection_words(report.gates, len(report.records))
    below = [line for line, _ in gate_lines(judgement.verdicts, 0, selection=selection)]
    below += [*judgement.differences, *_of_parts(report, into, parts)]
    unscored = unscored_lines(report.records, windows)
    if verbose:
        lines = run_lines(report, color=color, encoding=encoding, width=width, colors=colors)
        print(*lines, *unscored, *shared_lines(report.records), *below, *map(relative, finished.files), sep="\n")
        print(next_line(report, relative(into)))
        return
    last = sum(len(folded(line, width)) for line in below)
    skipped = [line for line in unscored if line.startswith("skipped")]
    short = ending(
        report,
        skipped=skipped,
        folder=relative(into),
        last=last,
        width=width,
        encoding=encoding,
        color=color,
        colors=colors,
    )
    print(*(line for line, _ in short), sep="\n")
    print(*(part for line in below for part in folded(line, width)), sep="\n")


def _of_parts(report: RunReport, into: Path, parts: Sequence[Part]) -> Iterator[str]:
    """What the parts were made by and hold besides, and that they are merged."""
    versions = sorted({str(made) for part in parts if (made := _version(part)) is not None})
    if len(versions) > 1:
        yield f"parts were made by several versions of needlework: {', '.join(versions)}"
    for part in parts:
        if part.others:
            yield f"{part.name} also holds {part.others} records of a run with other options: they are left out"
    from_parts = f"{len(parts)} {'part' if len(parts) == 1 else 'parts'}"
    yield f"merged {from_parts}, {len(report.records):,} of {report.planned:,} trials, into {relative(into)}"


def _version(part: Part) -> object:
    versions = part.manifest.get("versions")
    return versions.get("needlework") if isinstance(versions, Mapping) else None
