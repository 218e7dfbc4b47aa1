"""The folders that a merge reads: a run's shards, or runs that were made side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.places import check_tree
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.files.read_run import manifest_at
from needlework.results.records.journal import read_journal
from needlework.results.records.manifest import settings_of
from needlework.results.records.recipe import recipe_of
from needlework.results.records.record import Record
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.records.shard_file import SHARD_FILE, SHARDS, Planned, read_shard_file

_SHARD = re.compile(r"([0-9]+)-of-([0-9]+)")
PART = "part"
"""In the `timing` of a record that a merge took from a part: the part's name."""


@dataclass(frozen=True, slots=True)
class Part:
    """One folder that one process wrote. `name`: as it is told; `planned`: what it was to run, of a shard.

    `records`: those of its last recipe, in the order written; `others`: how many records of other recipes it has.
    `recipe`: of these, `None` without any; `told`: the manifest's. `settings`: of its manifest, `None` where that
    cannot be read.
    """

    name: str
    folder: Path
    manifest: Mapping[str, Any]
    settings: Settings | None
    recipe: str | None
    told: str | None
    records: tuple[Record, ...]
    others: int
    planned: Planned | None


def parts_of(run: Path) -> Iterator[Part]:
    """The shards of a run, the lowest first, or the run itself where it has none. Raises `InputError`."""
    check_tree(run / SHARDS, run)
    shards = sorted(folders_of_shards(run), key=_order)
    for folder in shards:
        yield read_part(folder, f"{folder.parent.name}/{folder.name}")
    if not shards:
        if not (run / JOURNAL).is_file():
            found = "has no journal.jsonl and no shards; give a run's folder" if run.exists() else "does not exist"
            raise InputError("RUN", run, found)
        yield read_part(run, run.resolve().name)


def folders_of_shards(run: Path) -> list[Path]:
    """The folders of a run's shards that have begun."""
    begun = (JOURNAL, SHARD_FILE, MANIFEST)
    return [
        folder
        for folder in (run / SHARDS).glob("*-of-*")
        if _SHARD.fullmatch(folder.name) and any((folder / name).is_file() for name in begun)
    ]


def is_shard(folder: Path) -> bool:
    """Whether a folder is one of a run's shards."""
    return folder.parent.name == SHARDS and _SHARD.fullmatch(folder.name) is not None


def read_part(folder: Path, name: str) -> Part:
    """Read what a process left in its folder. Raises `InputError` where its journal cannot be read."""
    manifest, journal = manifest_at(folder / MANIFEST), read_journal(folder / JOURNAL)
    try:
        settings = settings_of(manifest)
    except InputError:
        settings = None
    told = recipe_of(settings) if settings else None
    # A manifest lacks what is secret, so that its recipe may be none of the records'.
    there = {record["details"].get("recipe") for record in journal}
    recipe = told if told in there else recipe_in(journal)
    own = tuple(record for record in journal if record["details"].get("recipe") == recipe)
    return Part(name, folder, manifest, settings, recipe, told, own, len(journal) - len(own), read_shard_file(folder))


def recipe_in(records: Sequence[Record]) -> str | None:
    """The recipe of the last record."""
    found = records[-1]["details"].get("recipe") if records else None
    return found if isinstance(found, str) else None


def _order(folder: Path) -> tuple[int, int]:
    number, of = folder.name.split("-of-")
    return int(of), int(number)
