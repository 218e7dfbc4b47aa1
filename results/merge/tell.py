"""What a merge says at its end in the terminal: what a run says."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.gates.report import gate_lines
from needlework.results.merge.judged import Judged
from needlework.results.merge.parts import Part
from needlework.results.run.finish import Finished
from needlework.results.style.text import relative
from needlework.results.tables.run import next_line, run_lines
from needlework.results.tables.shared_tokens import shared_lines
from needlework.results.tables.unscored import unscored_lines


def tell(
    finished: Finished,
    judgement: Judged,
    settings: Settings,
    windows: Mapping[str, int],
    into: Path,
    parts: Sequence[Part],
) -> None:
    """Print heatmaps, tables, gates and files. `windows`: model -> tokens."""
    report = finished.report
    lines = run_lines(
        report,
        color=sys.stdout.isatty(),
        encoding=sys.stdout.encoding,
        width=shutil.get_terminal_size().columns,
        colors=settings.heatmap_colors,
    )
    lines += [*unscored_lines(report.records, windows), *shared_lines(report.records)]
    lines += [line for line, _ in gate_lines(judgement.verdicts, 0)] if judgement.verdicts else []
    lines += judgement.differences
    versions = sorted({str(made) for part in parts if (made := _version(part)) is not None})
    if len(versions) > 1:
        lines.append(f"parts were made by several versions of needlework: {', '.join(versions)}")
    for part in parts:
        if part.others:
            lines.append(f"{part.name} also holds {part.others} records of a run with other options: they are left out")
    from_parts = f"{len(parts)} {'part' if len(parts) == 1 else 'parts'}"
    lines += ["", f"merged {from_parts}, {len(report.records):,} of {report.planned:,} trials, into {relative(into)}"]
    print(*lines, *map(relative, finished.files), next_line(report, relative(into)), sep="\n")


def _version(part: Part) -> object:
    versions = part.manifest.get("versions")
    return versions.get("needlework") if isinstance(versions, Mapping) else None
