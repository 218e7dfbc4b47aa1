"""Panels from whatever a path holds: a run folder, a journal, a report, or another system's files."""

from __future__ import annotations

import json
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.csv_file import read_csv
from needlework.results.files.foreign import foreign_panels, panels_in_json
from needlework.results.files.json_file import check_record, read_json, records_in
from needlework.results.records.journal import read_journal
from needlework.results.records.record import Record
from needlework.results.statistics.panels import Panel, panels_of, summarise

# Of a run folder: the first that is there. A journal knows of trials that a killed run never reported.
_OF_A_RUN = ("results.json", "journal.jsonl", "results.csv")


def load_panels(path: Path) -> tuple[Panel, ...]:
    """Read the panels of one path. Raises `InputError`, one clear line, where there is nothing to draw."""
    if not path.exists():
        raise InputError("results", path, "does not exist; give a run folder or a results file")
    try:
        panels = _load(path)
    except OSError as error:
        raise InputError("results", path, f"cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError("results file", path, str(error)) from None
    if not panels:
        raise InputError("results", path, "holds no trials; there is nothing to draw")
    return panels


def load_records(path: Path) -> list[Record]:
    """Read the records of a path that `load_panels` has read; none where it holds scores alone, or another system's."""
    if path.is_dir():
        own = next((path / name for name in _OF_A_RUN if (path / name).is_file()), None)
        return [] if own is None else load_records(own)
    if path.suffix.lower() == ".csv":
        return []
    if path.suffix.lower() == ".jsonl":
        return _journal(path)
    content = json.loads(path.read_text(encoding="utf-8-sig"))
    return [] if panels_in_json(content, path) else records_in(content, path)


def run_records(folder: Path) -> list[Record]:
    """Read the last record of each trial of a run; none where it has just begun. Raises `InputError`."""
    report, journal = folder / "results.json", folder / "journal.jsonl"
    return read_json(report) if report.is_file() else _journal(journal)


def _load(path: Path) -> tuple[Panel, ...]:
    if path.is_dir():
        own = next((path / name for name in _OF_A_RUN if (path / name).is_file()), None)
        return foreign_panels(path) if own is None else _load(own)
    if path.stat().st_size == 0:
        raise InputError("results file", path, "is empty")
    if path.suffix.lower() == ".csv":
        return _csv(path)
    if path.suffix.lower() == ".jsonl":
        return summarise(_journal(path))
    return _json(path)


def _csv(path: Path) -> tuple[Panel, ...]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        first = file.readline()
    return foreign_panels(path) if first.startswith("dataset,") else panels_of(read_csv(path))


def _json(path: Path) -> tuple[Panel, ...]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError("results file", path, f"is not JSON ({error})") from None
    return panels_in_json(content, path) or summarise(records_in(content, path))


def _journal(path: Path) -> list[Record]:
    """The last record of each trial of the journal's last recipe: a resumed run with other options is another run."""
    records = read_journal(path)
    for number, record in enumerate(records, start=1):
        check_record(record, path, f"record {number}")
    recipe = records[-1]["details"].get("recipe") if records else None
    same = (record for record in records if record["details"].get("recipe") == recipe)
    return list({(record["model"], record["id"]): record for record in same}.values())
