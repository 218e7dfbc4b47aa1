"""The union of the parts' records, and the files of the merged run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import structs

from needlework.core.errors import InputError
from needlework.core.files import drop_halves
from needlework.core.record import FINAL, OutcomeName, Record
from needlework.core.settings import Settings
from needlework.results.merge.parts import RunPart
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
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.records.samples import facts_of_models, latest_by_identity, latest_of_each
from needlework.results.run.finish import Finished, finish
from needlework.results.statistics.tasks import GateRow

Keep = Literal["first", "last"]
# Failures in ascending order of information: a prompt that does not fit stays too long, a server comes back.
_FAILURES: tuple[OutcomeName, ...] = ("error", "invalid", "skipped")
THE_RUN = "the run itself"


class Conflict(NamedTuple):
    """Two different answers to one prompt, in the order of their parts."""

    parts: tuple[str, str]
    records: tuple[Record, Record]


def union(parts: Mapping[str, Sequence[Record]], keep: Keep = "first") -> tuple[list[Record], list[Conflict]]:
    """Join the records of parts, by the parts' names; the name `""` is the folder that is merged into.

    Returns one record for each trial, with the name of its part in `timing`. An answer beats any failure. Of two equal
    answers the first part's stays, of two different ones that of `keep`. Raises `InputError` where two parts have
    different prompts for one trial.
    """
    chosen: dict[tuple[str, str, str], tuple[str, Record]] = {}
    conflicts = []
    for part, records in parts.items():
        for trial, record in latest_by_identity(records).items():
            other_part, other = chosen.setdefault(trial, (part, record))
            if "" not in (other.key, record.key) and other.key != record.key:
                remedy = f"asked another prompt for {record.id} than {other_part or THE_RUN}"
                raise InputError("RUN", part, f"{remedy}: text, needles or tokenizer differ (nothing was written)")
            conflict = {other.outcome, record.outcome} <= FINAL and _answer(other) != _answer(record)
            if conflict:
                conflicts.append(Conflict((other_part, part), (other, record)))
            if (conflict and keep == "last") or _rank(record) > _rank(other):
                chosen[trial] = part, record
    return [_with_part(record, part) for part, record in chosen.values()], conflicts


def _rank(record: Record) -> int:
    return len(_FAILURES) if record.outcome in FINAL else _FAILURES.index(record.outcome)


def _answer(record: Record) -> tuple[object, ...]:
    return record.outcome, record.score, record.response.text, record.response.finish_reason


def _with_part(record: Record, part: str) -> Record:
    return structs.replace(record, timing=structs.replace(record.timing, part=part)) if part else record


def merged_manifest(settings: Settings, parts: Sequence[RunPart], *, planned: int, recorded: int) -> dict[str, Any]:
    """The manifest of the merged run: facts of all parts, code and machine of the first, and a summary of each part."""
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
        facts={**facts, "changed_facts": changed, "parts": [_part_summary(part) for part in parts]},
        started=min(str(part.manifest.get("started", "")) for part in parts),
        ended=None if None in ended else max(map(str, ended)),
        planned=planned,
        recorded=recorded,
    )
    of_first = ("folder", "versions", "python", "platform", "commit", "left_out")
    return content | {name: first[name] for name in of_first if name in first}


def _part_summary(part: RunPart) -> dict[str, Any]:
    names = ("started", "ended", "planned", "recorded", "platform", "commit")
    servers = sorted({str(server) for server in facts_of_models(part.manifest, "server").values() if server})
    return {"name": part.name, **{name: part.manifest.get(name) for name in names}, "servers": servers}


def write_merged(
    into: Path, records: Sequence[Record], settings: Settings, content: Mapping[str, Any], gates: Sequence[GateRow]
) -> Finished:
    """Write the journal, the manifest and every file of a run. `records`: with the part of each in its `timing`.

    Killed at any moment, the folder has the old journal or the new one, whole, and the parts have theirs. Raises
    `InputError` if another run writes there, `OSError` if the folder cannot be written.
    """
    with closing(Journal(into / JOURNAL, fresh=False, option="RUN")) as journal:
        if journal.warning:
            print(journal.warning, file=sys.stderr)
        drop_halves(into)
        of_run = [record for record in read_journal(into / JOURNAL) if not record.timing.part]
        lines = [line_of(record) for record in (*of_run, *(record for record in records if record.timing.part))]
        text = "".join(f"{line}\n" for line in lines).encode()
        if text != (into / JOURNAL).read_bytes():
            journal.replace(text)
        write_manifest(into / MANIFEST, {**content, "ended": None})
        latest, planned, notes = latest_of_each(records), int(content["planned"]), notes_of(content)
        finished = finish(into, latest, settings, planned=planned, gates=gates, notes=notes, manifest=content)
        write_manifest(into / MANIFEST, content)
    return finished
