"""Runs from disk: records with their manifest; panels of any path, of other systems too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.results.adaptive.statement import adaptive_statements
from needlework.results.files.foreign import foreign_panels
from needlework.results.files.json_files import parsed, records_in
from needlework.results.records.journal import read_journal
from needlework.results.records.manifest import manifest_at
from needlework.results.records.run_folder import JOURNAL, MANIFEST, SHARDS, check_links
from needlework.results.records.samples import latest_of_each
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_report import RunReport, run_report
from needlework.results.style import one_line, relative


@dataclass(frozen=True, repr=False)
class Run:
    """A recorded run. `records`: the last one of each trial; `manifest`: its origin, empty without one;
    `planned`: how many trials it was to have, more than `records` where it was interrupted.
    """

    folder: Path
    records: tuple[Record, ...]
    manifest: Mapping[str, Any]
    planned: int

    def __repr__(self) -> str:
        """One line, however many records: a notebook shows it."""
        counts = f"{len(self.records):,} of {self.planned:,} trials, {', '.join(self.models) or 'no model'}"
        return one_line(f"<Run {self.name}: {counts}; {relative(self.folder)}>")

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.resolve().name

    @property
    def models(self) -> list[str]:
        """The models that it asked, sorted."""
        return sorted({record.model for record in self.records})

    @property
    def panels(self) -> tuple[Panel, ...]:
        """The panels of the report."""
        return self.report.panels

    @cached_property
    def report(self) -> RunReport:
        """The report that is computed from the records."""
        return report_of(self, self.records)


def read_run(path: str | Path) -> Run:
    """Read a run: its folder, its results.json, or its journal.jsonl, which a killed run has alone.

    Raises `InputError`, one clear line, where there is none, or a file of it is damaged.
    """
    path = Path(path)
    file = file_of_run(path) if path.is_dir() else path
    if not file or not file.is_file():
        problem = "has no results.json; give a run's folder" if path.exists() else "does not exist"
        if (path / SHARDS).is_dir():
            problem = f"has shards alone; put them together: needlework merge {path}"
        raise InputError("run", path, problem)
    if path.is_dir():
        check_links(path)
    manifest = manifest_at(file.parent / MANIFEST)
    if file.suffix.lower() == ".jsonl":
        records, planned = _journal(file), manifest.get("planned")
    else:
        content = parsed(file)
        records, planned = records_in(content, file), content.get("planned")
    whole = planned if isinstance(planned, int) and planned > len(records) else len(records)
    return Run(file.parent, tuple(records), manifest, whole)


def file_of_run(folder: Path) -> Path | None:
    """The file with the records of a run; a killed one has its journal alone. `None` for another folder."""
    return next((folder / name for name in ("results.json", JOURNAL) if (folder / name).is_file()), None)


def report_of(run: Run, records: tuple[Record, ...]) -> RunReport:
    """The report of `records`, which are the run's own or made from them: another scorer's verdicts."""
    from needlework.results.records.manifest import settings_of

    try:
        settings = settings_of(run.manifest)
    except InputError:  # no manifest, or an older one: nobody knows what was to be asked
        return run_report(records, planned=run.planned)
    return report_with(settings, records, planned=run.planned, facts=run_facts(run.manifest, run.name))


def report_with(
    settings: Settings, records: Sequence[Record], series: Sequence[Series] | None = None, **more: Any
) -> RunReport:
    """The report of a run. `series`: those of an adaptive run's tests; `more`: for `run_report`."""
    from needlework.results.statistics.length_scores import parse_relative_to
    from needlework.results.statistics.suites.published import design_of

    return run_report(
        records,
        design=design_of(settings),
        vote=settings.suites[0].vote,
        relative_to=parse_relative_to(settings.relative_to),
        adaptive=adaptive_statements(settings, records, series),
        price=settings.price,
        **more,
    )


def load_panels(path: Path) -> tuple[Panel, ...]:
    """Read the panels of a run or of another system's files. Raises `InputError` if there are none."""
    if not path.exists():
        raise InputError("results", path, "does not exist; give a run folder or a results file")
    try:
        panels = read_run(path).panels if _is_run(path) else foreign_panels(path)
    except OSError as error:
        raise InputError("results", path, f"cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError("results file", path, str(error)) from None
    if not panels:
        raise InputError("results", path, "holds no trials; there is nothing to draw")
    return panels


def _is_run(path: Path) -> bool:
    """Whether the folder or file is of this harness. Raises `InputError` where it is empty or no JSON."""
    if path.is_dir():
        return file_of_run(path) is not None
    if path.stat().st_size == 0:
        raise InputError("results file", path, "is empty")
    kind = path.suffix.lower()
    if kind in (".csv", ".jsonl"):
        return kind == ".jsonl"
    content = parsed(path)
    return isinstance(content, dict) and "records" in content


def _journal(path: Path) -> list[Record]:
    """The last record of each trial of the journal's last recipe: other options make another run."""
    records = read_journal(path)
    recipe = records[-1].details.recipe if records else None
    same = (record for record in records if record.details.recipe == recipe)
    return latest_of_each(same)
