"""The merged run's folder: its journal first, which everything else can be made from again."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.writing.whole_files import drop_halves
from needlework.results.merge.parts import PART, Part
from needlework.results.records.journal import Journal, line_of, read_journal
from needlework.results.records.manifest import (
    OF_A_PROCESS,
    changed_facts,
    command_line,
    manifest,
    merge_facts,
    notes_of,
    write_manifest,
)
from needlework.results.records.record import Record
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.records.tests_of_cells import latest_of_each
from needlework.results.run.finish import Finished, finish
from needlework.results.statistics.gate_row import GateRow


def own_records(into: Path, recipe: str | None) -> list[Record]:
    """What the folder has of this recipe that no merge put there: trials of a run in this very folder."""
    return [
        record
        for record in read_journal(into / JOURNAL)
        if record["details"].get("recipe") == recipe and PART not in record["timing"]
    ]


def merged_manifest(settings: Settings, parts: Sequence[Part], *, planned: int, recorded: int) -> dict[str, Any]:
    """The manifest of the merged run: facts of all parts, code and machine of the first, and what each part was."""
    facts: dict[str, Any] = {}
    for part in parts:
        merge_facts(facts, {k: v for k, v in part.manifest.items() if k not in OF_A_PROCESS and isinstance(v, dict)})
    changed = list(dict.fromkeys(line for part in parts for line in changed_facts(part.manifest)))
    first = next(part.manifest for part in parts if part.settings is not None)
    ended = [part.manifest.get("ended") for part in parts]
    content = manifest(
        settings,
        argv=command_line(),
        root=Path.cwd(),
        facts={**facts, "changed_facts": changed, "parts": [_told(part) for part in parts]},
        started=min(str(part.manifest.get("started", "")) for part in parts),
        ended=None if None in ended else max(map(str, ended)),
        planned=planned,
        recorded=recorded,
    )
    said = ("folder", "versions", "python", "platform", "commit", "left_out")
    return content | {name: first[name] for name in said if name in first}


def write_merged(
    into: Path, records: Sequence[Record], settings: Settings, content: Mapping[str, Any], gates: Sequence[GateRow]
) -> Finished:
    """Write the journal, the manifest and every file of a run. `records`: with the part of each in its `timing`.

    Killed at any moment, the folder has the old journal or the new one, whole, and the parts have theirs. Raises
    `InputError` where another run writes there, `OSError` where the folder cannot be written.
    """
    with closing(Journal(into / JOURNAL, fresh=False, option="RUN")) as journal:
        if journal.warning:
            print(journal.warning, file=sys.stderr)
        drop_halves(into)
        before = (into / JOURNAL).read_bytes()
        kept = [record for record in read_journal(into / JOURNAL) if PART not in record["timing"]]
        lines = [line_of(record) for record in (*kept, *(r for r in records if PART in r["timing"]))]
        after = "".join(f"{line}\n" for line in lines).encode("ascii")
        if after != before:
            journal.replace(after)
        write_manifest(into / MANIFEST, {**content, "ended": None})
        finished = finish(
            into,
            latest_of_each(records),
            settings,
            planned=int(content["planned"]),
            gates=gates,
            notes=notes_of(content),
            manifest=content,
        )
        write_manifest(into / MANIFEST, content)
    return finished


def check_into(into: Path) -> None:
    """Refuse a folder that is a file, or that cannot be made. Raises `InputError`."""
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--into", into, f"cannot be written ({error.strerror})") from None


def _told(part: Part) -> dict[str, Any]:
    """What the merged manifest says of a part."""
    names = ("started", "ended", "planned", "recorded", "platform", "commit")
    models = part.manifest.get("models")
    told = models.values() if isinstance(models, Mapping) else ()
    servers = sorted({str(model["server"]) for model in told if isinstance(model, Mapping) and model.get("server")})
    return {"name": part.name, **{name: part.manifest.get(name) for name in names}, "servers": servers}
