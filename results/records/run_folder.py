"""Where a run's files are."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import slug
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.workers.shard import shard_named
from needlework.results.records.record import FINAL, Record
from needlework.results.records.shard_file import SHARDS
from needlework.results.records.tests_of_cells import identity, latest_of_each

JOURNAL, MANIFEST = "journal.jsonl", "manifest.json"
_LONGEST_NAME = 200
# What a run writes at its end.
_WRITTEN = (
    "heatmap-*", "asked-*", "tasks*", "models-*", "documents-*", "results.*", "summary.json", "cells.csv", "report.html"
)  # fmt: skip


def run_folder(settings: Settings) -> Path:
    """The named run's folder, or a new one called by time and model; of a shard the folder `shards/2-of-4` in it."""
    name = settings.run_name
    if name is None:
        models = "+".join(slug(spec) for spec in dict.fromkeys(settings.model))
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{models[:80]}"
    elif name in (".", "..") or any(mark in name for mark in "/\\\0"):
        raise InputError("--run-name", name, "is a folder's name, without slashes; --results-dir says where it lies")
    elif len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME or not name.isprintable():
        raise InputError("--run-name", name, f"give a name that can be shown, up to {_LONGEST_NAME} bytes")
    folder = settings.results_dir / name
    return folder if settings.shard is None else folder / SHARDS / shard_named(settings.shard).name


def drop_written(folder: Path) -> None:
    """Remove what a run has written at its end. Raises `OSError`."""
    for old in (file for pattern in _WRITTEN for file in folder.glob(pattern)):
        old.unlink()


def has_earlier_answers(earlier: list[Record], now: list[Record], recipe: str) -> bool:
    """Whether an answer of an earlier session is among `whole_run`."""
    if any(record["timing"].get("replayed") for record in now):
        return True
    there = {identity(record) for record in now}
    return any(
        record["outcome"] in FINAL and record["details"].get("recipe") == recipe and identity(record) not in there
        for record in earlier
    )


def whole_run(earlier: list[Record], now: list[Record], recipe: str) -> list[Record]:
    """The run that the folder holds: this session's records, and earlier ones of the same recipe."""
    return latest_of_each([*(record for record in earlier if record["details"].get("recipe") == recipe), *now])
