"""`needlework merge RUN`: put the shards of a run together, and judge its gates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.places import READ, READ_HELP, Places
from needlework.results.gates.gate import parse_gate
from needlework.results.gates.report import gate_rows
from needlework.results.merge.agreement import check_agreement
from needlework.results.merge.judged import judged
from needlework.results.merge.missing import missing_lines, missing_of, selected_of
from needlework.results.merge.parts import Part, is_shard, parts_of, read_part
from needlework.results.merge.settings import merged_settings
from needlework.results.merge.tell import tell
from needlework.results.merge.union import Keep, Twice, Union, union
from needlework.results.merge.write import merged_manifest, own_records, write_merged
from needlework.results.records.manifest import start_of
from needlework.results.records.record import Record
from needlework.results.records.tests_of_cells import latest_of_each
from needlework.results.records.windows import windows_of
from needlework.results.run.exit_status import exit_status, is_void
from needlework.results.run.step_summary import write_step_summary
from needlework.results.statistics.run_report import interrupted
from needlework.results.style.text import one_line, relative

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
        int(any(record["outcome"] == "error" for record in records)),
        fault=False,
        early=bool(early),
        void=is_void(selected, windows_of(content), settings.max_errors),
        verdicts=judgement.verdicts,
    )


def _places(options: argparse.Namespace, into: Path, parts: Sequence[Part]) -> Places:
    manifest = next((part.manifest for part in parts if part.settings is not None), {})
    return Places(into.resolve(), start_of(manifest), tuple(options.read))


def _parts(runs: Sequence[Path]) -> list[Part]:
    found: dict[Path, Part] = {}
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
        remedy = f"asked another prompt for {first.records[1]['id']} than {first.parts[0] or 'the run itself'}"
        raise InputError("RUN", first.parts[1], f"{remedy}: text, needles or tokenizer differ (nothing was written)")


def _conflict_lines(conflicts: Sequence[Twice], keep: Keep | None) -> Iterator[str]:
    for each in conflicts[:_SHOWN]:
        told = [f"{part or 'the run itself'}: {_told(each.records[at])}" for at, part in enumerate(each.parts)]
        yield f"conflict: {each.records[0]['id']}: {', '.join(told)}"
    if len(conflicts) > _SHOWN:
        yield f"and {len(conflicts) - _SHOWN} more"
    if conflicts and keep is None:
        yield (
            f"{len(conflicts)} {'trial has' if len(conflicts) == 1 else 'trials have'} two different answers; nothing"
            " was written; --conflicts first or last says whose counts, in the order of the parts"
        )


def _told(record: Record) -> str:
    return one_line(f"{record['outcome']} {str(record['response'].get('text', ''))[:60]!r}")


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
