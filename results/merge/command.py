"""`needlework merge`: put the shards of a run together, and judge its gates."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.record import Record
from needlework.core.settings import READ, READ_HELP, Places, Settings
from needlework.results.gates.decide import gate_lines, gate_rows, judge_gate
from needlework.results.gates.gate import OPTION, Baseline, Verdict, load_baseline, parse_gate
from needlework.results.gates.gatekeeper import cell_of_record, check_gates
from needlework.results.merge.parts import (
    RunPart,
    check_agreement,
    is_shard,
    merged_settings,
    missing_lines,
    missing_of,
    parts_of,
    read_part,
    selected_of,
)
from needlework.results.merge.union import Conflict, Keep, merged_manifest, records_of_run, union, write_merged
from needlework.results.records.manifest import start_of
from needlework.results.records.samples import latest_of_each, windows_of
from needlework.results.run.finish import Finished, write_step_summary
from needlework.results.run.open_folder import exit_status, is_void
from needlework.results.statistics.comparison.provenance import check_dtypes, differing_parts
from needlework.results.statistics.run_report import RunReport, interrupted
from needlework.results.statistics.tasks import selection_words
from needlework.results.style import folded, one_line, relative
from needlework.results.tables.comparison import differing_lines
from needlework.results.tables.panels import shared_lines, unscored_lines
from needlework.results.tables.summary import ending, next_line, run_lines

CONFLICT, MISSING = 1, 3
_MAX_CONFLICTS = 10  # that are listed


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: that of the run's gates as pytest has it (0, 1, 10, 11), 1 if two parts
    have different answers, 2 after one line about wrong input, 3 if something is missing."""
    options = _parser().parse_args(argv)
    try:
        return _merge(options)
    except InputError as error:
        return refuse("merge", error)
    except BrokenPipeError:
        raise  # the reader of our output has closed it
    except OSError as error:
        path = error.filename or options.into or options.runs[0]
        return refuse("merge", InputError("file", path, f"{error.strerror or error}; every answer is in its journal"))


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework merge",
        description="Put the shards of a run together: the same results, pictures and report as one process writes,"
        " and its gates. Nothing is taken from the shards: they can go on, and be merged again.",
        epilog="Exit codes: as pytest's for the run (0; 1 a gate failed or cells ended in errors; 10; 11), 1 two"
        " different answers to one trial, 2 wrong input, 3 something is missing.",
    )
    add = parser.add_argument
    add("runs", type=Path, nargs="+", metavar="RUN", help="a run with shards, or several folders")
    add("--into", type=Path, metavar="FOLDER", help="where to write [the run's own folder]")
    add("--partial", action="store_true", help="merge what is there; the run is an interrupted one")
    conflicts = "of two different answers to one trial, whose counts [refused]"
    add("--conflicts", choices=("first", "last"), help=conflicts)
    add("--gate", action="append", default=[], metavar="EXPR", help="a gate, in place of those of the shards")
    add("--baseline", metavar="RUN", help="what such a gate compares with [as the shards were given]")
    add(READ, action="append", default=[], metavar="PATH", help=READ_HELP)
    add("-v", "--verbose", action="store_true", help="print every table and file [at most 25 lines]")
    return parser


def _merge(options: argparse.Namespace) -> int:
    into, parts = _target_folder(options), _read_parts(options.runs)
    check_agreement(parts)
    for text in options.gate:
        parse_gate(text)
    settings = _settings(options, into, parts)
    joined = union(_records_by_part(into, parts), options.conflicts or "first")
    _check_prompts(joined.foreign)
    missing = missing_of(parts, joined.records)
    _print_errors(_conflict_lines(joined.conflicts, options.conflicts))
    _print_errors(missing_lines(missing))
    if joined.conflicts and options.conflicts is None:
        return CONFLICT
    if missing and not options.partial:
        _print_errors(["nothing was written; --partial merges what is there"])
        return MISSING
    if not joined.records:
        raise InputError("RUN", parts[0].name, "has no records yet")
    records = latest_of_each(joined.records)
    planned = len(records) + sum(each.count for each in missing)
    content = merged_manifest(settings, parts, planned=planned, recorded=len(records))
    early = interrupted(len(records), planned)
    selected = selected_of(parts, records)
    judgement = _judge_gates(settings, selected, content, into, early)
    finished = write_merged(into, joined.records, settings, content, gate_rows(judgement.verdicts, len(selected)))
    windows = windows_of(content)
    _print_run(finished, judgement, settings, windows, into, parts, verbose=options.verbose)
    write_step_summary(finished.report, judgement.verdicts)
    return exit_status(
        int(any(record.outcome == "error" for record in records)),
        fault=False,
        early=bool(early),
        void=is_void(selected, windows, settings.max_errors),
        verdicts=judgement.verdicts,
    )


def _target_folder(options: argparse.Namespace) -> Path:
    """The folder to write into: `--into`, else the run whose shards are merged. Raises `InputError`."""
    if options.into is not None:
        into: Path = options.into
        if is_shard(into):
            raise InputError("--into", into, "is a shard's folder; give a run's")
        if into.exists() and not into.is_dir():
            raise InputError("--into", into, "is a file; give a folder")
        return into
    runs: list[Path] = options.runs
    run, *others = {run.parent.parent if is_shard(run) else run for run in runs}
    if others:
        raise InputError("RUN", ", ".join(map(str, runs)), "several runs: --into FOLDER says where to write")
    return run


def _read_parts(runs: Sequence[Path]) -> list[RunPart]:
    by_folder: dict[Path, RunPart] = {}
    for run in runs:
        for part in [read_part(run, f"{run.parent.name}/{run.name}")] if is_shard(run) else parts_of(run):
            by_folder.setdefault(part.folder.resolve(), part)
    parts = list(by_folder.values())
    if len({part.name for part in parts}) < len(parts):  # of several runs, each with shards
        parts = [replace(part, name=relative(part.folder)) for part in parts]
    return parts


def _settings(options: argparse.Namespace, into: Path, parts: Sequence[RunPart]) -> Settings:
    known = [(part.settings, part.manifest) for part in parts if part.settings is not None]
    if not known:
        raise InputError("RUN", parts[0].name, "has no readable manifest.json, which says what was asked")
    places = Places(into.resolve(), start_of(known[0][1]), tuple(options.read))
    return merged_settings([settings for settings, _ in known], into, options.gate, options.baseline, places)


def _records_by_part(into: Path, parts: Sequence[RunPart]) -> dict[str, Sequence[Record]]:
    recipe = next((part.recipe for part in parts if part.recipe is not None), None)
    is_part = into.resolve() in {part.folder.resolve() for part in parts}
    of_run: Sequence[Record] = [] if is_part else records_of_run(into, recipe)
    return {"": of_run, **{part.name: part.records for part in parts}}


def _check_prompts(foreign: Sequence[Conflict]) -> None:
    if foreign:
        first = foreign[0]
        remedy = f"asked another prompt for {first.records[1].id} than {first.parts[0] or 'the run itself'}"
        raise InputError("RUN", first.parts[1], f"{remedy}: text, needles or tokenizer differ (nothing was written)")


def _conflict_lines(conflicts: Sequence[Conflict], keep: Keep | None) -> Iterator[str]:
    for conflict in conflicts[:_MAX_CONFLICTS]:
        answers = [
            f"{part or 'the run itself'}: {_describe_answer(record)}"
            for part, record in zip(conflict.parts, conflict.records, strict=True)
        ]
        yield f"conflict: {conflict.records[0].id}: {', '.join(answers)}"
    if len(conflicts) > _MAX_CONFLICTS:
        yield f"and {len(conflicts) - _MAX_CONFLICTS} more"
    if conflicts and keep is None:
        yield (
            f"{len(conflicts)} {'trial has' if len(conflicts) == 1 else 'trials have'} two different answers; nothing"
            " was written; --conflicts first or last says whose counts, in the order of the parts"
        )


def _describe_answer(record: Record) -> str:
    return one_line(f"{record.outcome} {str(record.response.text)[:60]!r}")


def _print_errors(lines: Iterable[str]) -> None:
    for line in lines:
        print(one_line(line), file=sys.stderr)


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """The verdicts, and lines on what differs from the baseline besides the scores."""

    verdicts: list[Verdict]
    differences: list[str]


def _judge_gates(
    settings: Settings, records: Sequence[Record], manifest: Mapping[str, Any], into: Path, early: str
) -> GateOutcome:
    """Judge the run's gates; `early` says why the run is not whole, if it is not.

    Raises `InputError` for a wrong gate, and for a baseline that cannot be compared with.
    """
    gates = [parse_gate(text) for text in settings.gate]
    check_gates(settings, gates)
    if not gates:
        return GateOutcome([], [])
    baseline = _load_baseline(settings, records, manifest, into)
    if baseline is not None:
        for record in records:
            baseline.check(record)
        if not settings.allow_different_dtypes:
            check_dtypes(OPTION, baseline.path, baseline.manifest, manifest)
    if early:
        return GateOutcome([Verdict(gate.text, "all", "inconclusive", note=f"void: {early}") for gate in gates], [])
    windows = windows_of(manifest)
    verdicts = [verdict for gate in gates for verdict in judge_gate(gate, records, baseline, windows=windows)]
    parts = differing_parts(baseline.manifest or None, manifest) if baseline else []
    lines = differing_lines(parts, "the baseline and this run", "told by needlework compare") if parts else []
    return GateOutcome(verdicts, lines)


def _load_baseline(
    settings: Settings, records: Sequence[Record], manifest: Mapping[str, Any], into: Path
) -> Baseline | None:
    if settings.baseline is None:
        return None
    path = Path(settings.baseline).expanduser()
    if not path.exists():  # relative to the folder in which the shards ran
        path = Path(str(manifest.get("folder", ""))) / path
    if into.resolve() in (path.resolve(), path.resolve().parent):
        raise InputError(OPTION, path, "is the folder that is merged into; give another --into")
    return load_baseline(path, [(record.model, cell_of_record(record)) for record in records], settings.seed)


def _print_run(
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
    below += [*judgement.differences, *_part_lines(report, into, parts)]
    unscored = unscored_lines(report.records, windows)
    if verbose:
        lines = run_lines(report, color=color, encoding=encoding, width=width, colors=colors)
        print(*lines, *unscored, *shared_lines(report.records), *below, *map(relative, finished.files), sep="\n")
        print(next_line(report, relative(into)))
        return
    short = ending(
        report,
        skipped=[line for line in unscored if line.startswith("skipped")],
        folder=relative(into),
        last=sum(len(folded(line, width)) for line in below),
        width=width,
        encoding=encoding,
        color=color,
        colors=colors,
    )
    print(*(line for line, _ in short), sep="\n")
    print(*(part for line in below for part in folded(line, width)), sep="\n")


def _part_lines(report: RunReport, into: Path, parts: Sequence[RunPart]) -> Iterator[str]:
    """The parts' versions and records of other options, and that they are merged."""
    tables = [table for part in parts if isinstance(table := part.manifest.get("versions"), Mapping)]
    versions = sorted({str(table["needlework"]) for table in tables if table.get("needlework") is not None})
    if len(versions) > 1:
        yield f"parts were made by several versions of needlework: {', '.join(versions)}"
    for part in parts:
        if part.other_records:
            yield f"{part.name} also holds {part.other_records} records of a run with other options: they are left out"
    count = f"{len(parts)} {'part' if len(parts) == 1 else 'parts'}"
    yield f"merged {count}, {len(report.records):,} of {report.planned:,} trials, into {relative(into)}"
