"""What the runs of a matrix come to: the comparison with the first, its files, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.whole_files import write_whole
from needlework.launching.matrix.child import Ended
from needlework.launching.matrix.file import Matrix
from needlework.results.files.read_run import Run, read_run
from needlework.results.files.several_file import several_object
from needlework.results.html.several import several_html
from needlework.results.pictures.score_lines import write_score_lines
from needlework.results.records.windows import common_window, windows_of
from needlework.results.statistics.comparison.provenance import differing_parts
from needlework.results.statistics.comparison.several import Against, compare_several

MISSING = 3
_FIRST_OF = (1, 11, 10, MISSING)


@dataclass(frozen=True)
class Outcome:
    """The runs that there are, by label, each against the first configuration."""

    matrix: Matrix
    ended: Mapping[str, Ended]
    runs: Mapping[str, Run]
    found: tuple[Against, ...]
    windows: Mapping[str, int | None]


def outcome(matrix: Matrix, ended: Mapping[str, Ended]) -> Outcome:
    """Read what the runs have written, and compare it."""
    runs: dict[str, Run] = {}
    for each in matrix.configurations:
        try:
            runs[each.label] = read_run(matrix.folder / each.folder)
        except InputError:
            continue
    records = {each.label: runs[each.label].records if each.label in runs else () for each in matrix.configurations}
    windows = {
        label: common_window(windows_of(run.manifest), run.records) if run.records else None
        for label, run in runs.items()
    }
    found = tuple(
        replace(each, why=ended[each.name].why) if not each.scores.trials and each.name in ended else each
        for each in compare_several(records)
    )
    return Outcome(matrix, ended, runs, found, windows)


def write(found: Outcome) -> list[Path]:
    """Write summary.json, the picture and the page into the matrix's folder; return their paths."""
    folder, matrix = found.matrix.folder / "comparison", found.matrix
    pictures = write_score_lines(found.found, folder / "scores", title=matrix.name)
    picture = next((path for path in pictures if path.suffix == ".png"), None)
    page = several_html(
        found.found,
        title=matrix.name,
        windows=found.windows,
        parts=_parts(found),
        links=_links(found),
        picture=picture.read_bytes() if picture else None,
    )
    summary, report = folder / "summary.json", folder / "report.html"
    write_whole(summary, (json.dumps(_summary(found), ensure_ascii=False, indent=1) + "\n").encode())
    write_whole(report, page.encode())
    return [report, *pictures, summary]


def exit_code(found: Outcome, *, fail_if_worse: bool) -> int:
    """1 where a configuration is shown worse, if that is asked, or a gate failed; 11, 10 as its gates say; 3 where a
    configuration has not run to its end; else 0.
    """
    codes = {each.code if each.code in (0, 1, 10, 11) else MISSING for each in found.ended.values()}
    if fail_if_worse and any(each.verdict == "worse" for each in found.found):
        codes.add(1)
    return next((code for code in _FIRST_OF if code in codes), 0)


def _parts(found: Outcome) -> dict[str, Sequence[str]]:
    labels = [each.label for each in found.matrix.configurations if each.label in found.runs]
    if not labels or labels[0] != found.matrix.configurations[0].label:
        return {}
    first = found.runs[labels[0]]
    return {label: differing_parts(first.manifest or None, found.runs[label].manifest or None) for label in labels[1:]}


def _links(found: Outcome) -> dict[str, str]:
    return {
        each.label: f"../{each.folder}/report.html"
        for each in found.matrix.configurations
        if (found.matrix.folder / each.folder / "report.html").is_file()
    }


def _summary(found: Outcome) -> dict[str, Any]:
    facts = {each.label: _facts(found, each.label, each.folder) for each in found.matrix.configurations}
    return {
        "schema": 1,
        "name": found.matrix.name,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "configurations": several_object(found.found, facts),
    }


def _facts(found: Outcome, label: str, folder: str) -> dict[str, Any]:
    run, ended = found.runs.get(label), found.ended.get(label)
    manifest = run.manifest if run else {}
    return {
        "run": folder,
        "exit_code": ended.code if ended else None,
        "seconds": round(ended.seconds, 1) if ended else None,
        "why": ended.why or None if ended else None,
        "model": sorted({record["model"] for record in run.records}) if run else [],
        "window": found.windows.get(label),
        "started": manifest.get("started"),
        "commit": manifest.get("commit"),
    }
