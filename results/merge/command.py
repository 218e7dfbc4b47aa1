"""`needlework merge`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.files import drop_halves
from needlework.core.record import Record
from needlework.core.settings import READ, READ_HELP, Places, Settings
from needlework.results.gates.decide import gate_lines, gate_rows
from needlework.results.gates.gate import parse_gate
from needlework.results.merge.shards import (
    GateOutcome,
    Keep,
    RunPart,
    Twice,
    Union,
    check_agreement,
    is_shard,
    judged,
    merged_settings,
    missing_lines,
    missing_of,
    parts_of,
    read_part,
    selected_of,
    union,
)
from needlework.results.records.journal import Journal, line_of, read_journal
from needlework.results.records.manifest import (
    OF_A_PROCESS,
    changed_facts,
    command_line,
    manifest,
    merge_facts,
    notes_of,
    start_of,
    write_manifest,
)
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.records.samples import latest_of_each, windows_of
from needlework.results.run.finish import Finished, finish, write_step_summary
from needlework.results.run.open_folder import exit_status, is_void
from needlework.results.statistics.run_report import RunReport, interrupted
from needlework.results.statistics.tasks import GateRow, selection_words
from needlework.results.style import folded, one_line, relative
from needlework.results.tables.panels import shared_lines, unscored_lines
from needlework.results.tables.summary import ending, next_line, run_lines

CONFLICT, MISSING = 1, 3
_SHOWN = 10  # conflicts that are listed


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: that of the run's gates as pytest has it (0, 1, 10, 11), 1 where two
    parts have different answers, 2 after one line about wrong input, 3 where something is missing."""
    options = _parser().parse_args(argv)
    try:
        return _merge(options)
    except InputError as error:
        return refuse("merge", error)
    except BrokenPipeError:
        raise  # whoever read our output has seen enough
    except OSError as error:
        named = error.filename or options.into or options.runs[0]
        return refuse("merge", InputError("file", named, f"{error.strerror or error}; every answer is in its journal"))


def _merge(options: argparse.Namespace) -> int:
    into, parts = _into(options), _parts(options.runs)
    check_agreement(parts)
    recipe = next((part.recipe for part in parts if part.recipe is not None), None)
    known = [part.settings for part in parts if part.settings is not None]
    if not known:
        raise InputError("RUN", parts[0].name, "has no readable manifest.json, which says what was asked")
    for text in options.gate:
        parse_gate(text)
    settings = merged_settings(known, into, options.gate, options.baseline, _places(options, into, parts))
    own = [] if into.resolve() in {part.folder.resolve() for part in parts} else own_records(into, recipe)
    found = union({"": own} | {part.name: part.records for part in parts}, options.conflicts or "first")
    _check_prompts(found)
    missing = missing_of(parts, found.records)
    _say(_conflict_lines(found.conflicts, options.conflicts))
    _say(missing_lines(missing))
    if found.conflicts and options.conflicts is None:
        return CONFLICT
    if missing and not options.partial:
        _say(["nothing was written; --partial merges what is there"])
        return MISSING
    if not found.records:
        raise InputError("RUN", parts[0].name, "has no records yet")
    records = latest_of_each(found.records)
    planned = len(records) + sum(each.count for each in missing)
    content = merged_manifest(settings, parts, planned=planned, recorded=len(records))
    early = interrupted(len(records), planned)
    selected = selected_of(parts, records)
    judgement = judged(settings, selected, content, into, early)
    finished = write_merged(into, found.records, settings, content, gate_rows(judgement.verdicts, len(selected)))
    tell(finished, judgement, settings, windows_of(content), into, parts, verbose=options.verbose)
    write_step_summary(finished.report, judgement.verdicts)
    return exit_status(
        int(any(record.outcome == "error" for record in records)),
        fault=False,
        early=bool(early),
        void=is_void(selected, windows_of(content), settings.max_errors),
        verdicts=judgement.verdicts,
    )


def _places(options: argparse.Namespace, into: Path, parts: Sequence[RunPart]) -> Places:
    manifest = next((part.manifest for part in parts if part.settings is not None), {})
    return Places(into.resolve(), start_of(manifest), tuple(options.read))


def _parts(runs: Sequence[Path]) -> list[RunPart]:
    found: dict[Path, RunPart] = {}
    for run in runs:
        for part in [read_part(run, f"{run.parent.name}/{run.name}")] if is_shard(run) else parts_of(run):
            found.setdefault(part.folder.resolve(), part)
    parts = list(found.values())
    if len({part.name for part in parts}) < len(parts):  # of several runs, each with shards
        parts = [replace(part, name=relative(part.folder)) for part in parts]
    return parts


def _into(options: argparse.Namespace) -> Path:
    """The folder to write into: what was given, else the run whose shards are merged. Raises `InputError`."""
    if options.into is not None:
        into: Path = options.into
        if is_shard(into):
            raise InputError("--into", into, "is a shard's folder; give a run's")
        if into.exists() and not into.is_dir():
            raise InputError("--into", into, "is a file; give a folder")
        return into
    given: list[Path] = options.runs
    run, *others = {run.parent.parent if is_shard(run) else run for run in given}
    if others:
        raise InputError("RUN", ", ".join(map(str, given)), "several runs: --into FOLDER says where to write")
    return run


def _check_prompts(found: Union) -> None:
    if found.foreign:
        first = found.foreign[0]
        remedy = f"asked another prompt for {first.records[1].id} than {first.parts[0] or 'the run itself'}"
        raise InputError("RUN", first.parts[1], f"{remedy}: text, needles or tokenizer differ (nothing was written)")


def _conflict_lines(conflicts: Sequence[Twice], keep: Keep | None) -> Iterator[str]:
    for each in conflicts[:_SHOWN]:
        told = [f"{part or 'the run itself'}: {_told(each.records[at])}" for at, part in enumerate(each.parts)]
        yield f"conflict: {each.records[0].id}: {', '.join(told)}"
    if len(conflicts) > _SHOWN:
        yield f"and {len(conflicts) - _SHOWN} more"
    if conflicts and keep is None:
        yield (
            f"{len(conflicts)} {'trial has' if len(conflicts) == 1 else 'trials have'} two different answers; nothing"
            " was written; --conflicts first or last says whose counts, in the order of the parts"
        )


def _told(record: Record) -> str:
    return one_line(f"{record.outcome} {str(record.response.text)[:60]!r}")


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(one_line(line), file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework merge",
        description="Put the shards of a run together: the same results, pictures and report as one process writes,"
        " and its gates. Nothing is taken from the shards: they can go on, and be merged again.",
        epilog="Exit codes: as pytest's for the run (0; 1 a gate failed or cells ended in errors; 10; 11), 1 two"
        " different answers to one trial, 2 wrong input, 3 something is missing.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="a run with shards, or several folders")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="where to write [the run's own folder]")
    parser.add_argument("--partial", action="store_true", help="merge what is there; the run is an interrupted one")
    parser.add_argument(
        "--conflicts", choices=("first", "last"), help="of two different answers to one trial, whose counts [refused]"
    )
    parser.add_argument(
        "--gate", action="append", default=[], metavar="EXPR", help="a gate, in place of those of the shards"
    )
    parser.add_argument("--baseline", metavar="RUN", help="what such a gate compares with [as the shards were given]")
    parser.add_argument(READ, action="append", default=[], metavar="PATH", help=READ_HELP)
    parser.add_argument("-v", "--verbose", action="store_true", help="print every table and file [at most 25 lines]")
    return parser


def tell(
    finished: Finished,
    judgement: GateOutcome,
    settings: Settings,
    windows: Mapping[str, int],
    into: Path,
    parts: Sequence[RunPart],
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


def _of_parts(report: RunReport, into: Path, parts: Sequence[RunPart]) -> Iterator[str]:
    """What the parts were made by and hold besides, and that they are merged."""
    versions = sorted({str(made) for part in parts if (made := _version(part)) is not None})
    if len(versions) > 1:
        yield f"parts were made by several versions of needlework: {', '.join(versions)}"
    for part in parts:
        if part.others:
            yield f"{part.name} also holds {part.others} records of a run with other options: they are left out"
    from_parts = f"{len(parts)} {'part' if len(parts) == 1 else 'parts'}"
    yield f"merged {from_parts}, {len(report.records):,} of {report.planned:,} trials, into {relative(into)}"


def _version(part: RunPart) -> object:
    versions = part.manifest.get("versions")
    return versions.get("needlework") if isinstance(versions, Mapping) else None


def own_records(into: Path, recipe: str | None) -> list[Record]:
    """What the folder has of this recipe that no merge put there: trials of a run in this very folder."""
    return [
        record for record in read_journal(into / JOURNAL) if record.details.recipe == recipe and not record.timing.part
    ]


def merged_manifest(settings: Settings, parts: Sequence[RunPart], *, planned: int, recorded: int) -> dict[str, Any]:
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
        facts={**facts, "changed_facts": changed, "parts": [_write_told(part) for part in parts]},
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
        kept = [record for record in read_journal(into / JOURNAL) if not record.timing.part]
        lines = [line_of(record) for record in (*kept, *(r for r in records if r.timing.part))]
        after = "".join(f"{line}\n" for line in lines).encode()
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


def _write_told(part: RunPart) -> dict[str, Any]:
    """What the merged manifest says of a part."""
    names = ("started", "ended", "planned", "recorded", "platform", "commit")
    models = part.manifest.get("models")
    told = models.values() if isinstance(models, Mapping) else ()
    servers = sorted({str(model["server"]) for model in told if isinstance(model, Mapping) and model.get("server")})
    return {"name": part.name, **{name: part.manifest.get(name) for name in names}, "servers": servers}
