"""Several runs, each against the first or the one before: the table, and the files of the comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.files.read_run import Run
from needlework.results.files.several_file import COMPARISON, SCHEMA, several_object
from needlework.results.html.comparison_head import several_sentence
from needlework.results.html.several import several_html
from needlework.results.pictures.score_lines import write_score_lines
from needlework.results.records.windows import common_window, windows_of
from needlework.results.statistics.comparison.identity import weights_lines
from needlework.results.statistics.comparison.provenance import differing_parts
from needlework.results.statistics.comparison.several import Against, Base, compare_several
from needlework.results.tables.several import several_lines


@dataclass(frozen=True)
class Several:
    """Runs by the names they are shown by; `None`: it has not run. `found`: each against its base."""

    runs: Mapping[str, Run | None]
    found: tuple[Against, ...]
    windows: Mapping[str, int | None]

    @property
    def lines(self) -> list[str]:
        """What a terminal has of it."""
        return [*several_lines(self.found, self.windows), *self.same_weights]

    @property
    def same_weights(self) -> list[str]:
        """Which runs have the same weights under different names, and the other way round."""
        return weights_lines({name: run.manifest for name, run in self.runs.items() if run is not None})

    @property
    def is_one_worse(self) -> bool:
        """Whether any is shown worse than its base."""
        return any(each.verdict == "worse" for each in self.found)


def several(runs: Mapping[str, Run | None], why: Mapping[str, str] | None = None, base: Base = "first") -> Several:
    """Compare runs with the first of them, or with the one before. `why`: of some that have not run, the reason."""
    reasons = why or {}
    found = tuple(
        each if each.scores.trials else replace(each, why=reasons.get(each.name) or each.why)
        for each in compare_several({name: run.records if run else () for name, run in runs.items()}, base)
    )
    windows = {
        name: common_window(windows_of(run.manifest), run.records) if run and run.records else None
        for name, run in runs.items()
    }
    return Several(runs, found, windows)


def write_several(
    found: Several,
    folder: Path,
    *,
    title: str,
    links: Mapping[str, str] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Path]:
    """Write report.html, scores.png and .svg, and comparison.json; return their paths. `links`: to each run's report;
    `facts`: what else comparison.json says of each.
    """
    told = several_sentence(found.found).rstrip(".")
    pictures = write_score_lines(found.found, folder / "scores", title=told or title, below=title if told else "")
    picture = next((path.read_bytes() for path in pictures if path.suffix == ".png"), None)
    parts = _parts(found)
    page = several_html(
        found.found,
        title=title,
        windows=found.windows,
        parts=parts,
        links=links or {},
        picture=picture,
        notes=found.same_weights,
    )
    write_whole(folder / COMPARISON, comparison_text(found, title, facts).encode())
    write_whole(folder / "report.html", page.encode())
    return [folder / "report.html", *pictures, folder / COMPARISON]


def comparison_text(found: Several, title: str, facts: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """The text of comparison.json; `facts` as of `write_several`."""
    told = {name: {**_facts(found, name), **(facts or {}).get(name, {})} for name in found.runs}
    summary = {
        "schema": SCHEMA,
        "name": title,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "same_weights": found.same_weights,
        "configurations": several_object(found.found, told),
    }
    return json.dumps(summary, ensure_ascii=False, indent=1) + "\n"


def _parts(found: Several) -> dict[str, Sequence[str]]:
    """What differs of each run from its base; of none whose base is not there."""
    parts: dict[str, Sequence[str]] = {}
    for each in found.found:
        run, base = found.runs[each.name], found.runs.get(each.base)
        if run is not None and base is not None:
            parts[each.name] = differing_parts(base.manifest or None, run.manifest or None)
    return parts


def _facts(found: Several, name: str) -> dict[str, Any]:
    run = found.runs[name]
    manifest = run.manifest if run else {}
    return {
        "model": sorted({record["model"] for record in run.records}) if run else [],
        "window": found.windows.get(name),
        "started": manifest.get("started"),
        "commit": manifest.get("commit"),
    }
