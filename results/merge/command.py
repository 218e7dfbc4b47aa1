"""`needlework merge`: put the shards of a run together, and judge its gates."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import drop_halves
from needlework.core.record import FINAL, OutcomeName, Record
from needlework.core.settings import BY_KEY, READ, READ_HELP, Places, Settings, Suite
from needlework.haystack_fixtures.configuration.stored_settings import safe_value
from needlework.results.gates.decide import gate_lines, gate_rows
from needlework.results.gates.gate import parse_gate
from needlework.results.gates.gatekeeper import Gatekeeper, check_gates
from needlework.results.merge.parts import Missing, RunPart, is_shard, missing_of, parts_of, read_part
from needlework.results.records import manifest as manifests
from needlework.results.records.journal import Journal, line_of, read_journal
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.records.samples import facts_of_models, latest_by_identity, latest_of_each, of_tests, windows_of
from needlework.results.run.finish import Finished, finish, write_step_summary
from needlework.results.run.session import exit_status, is_void
from needlework.results.statistics.comparison.provenance import changed_parts, differing_parts
from needlework.results.statistics.run_report import RunReport, interrupted
from needlework.results.statistics.tasks import GateRow, selection_words
from needlework.results.style import counted, encodable, first_few, folded, one_line, relative
from needlework.results.tables.terminal import Screen, ending, next_line, run_lines, shared_lines, unscored_lines

CONFLICT, MISSING = 1, 3
_MAX_CONFLICTS = 10  # that are listed
_MAX_CELLS = 5  # cells that a message names


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the gates' exit code (0, 1, 10, 11), 1 if two parts
    have different answers, 2 after one line about wrong input, 3 if something is missing."""
    options = _parser().parse_args(argv)
    return run_command("merge", lambda: _merge(options))


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
    settings = _settings(options, into, parts)
    gates = [parse_gate(text) for text in settings.gate]  # those of the merge, else of the parts
    joined, conflicts = union(_records_by_part(into, parts), options.conflicts or "first")
    missing = missing_of(parts, joined)
    for line in (*_conflict_lines(conflicts, options.conflicts), *missing_lines(missing)):
        print(one_line(line), file=sys.stderr)
    if conflicts and options.conflicts is None:
        return CONFLICT
    if missing and not options.partial:
        print("nothing was written; --partial merges what is there", file=sys.stderr)
        return MISSING
    if not joined:
        raise InputError("RUN", parts[0].name, "has no records yet")
    records = latest_of_each(joined)
    planned = len(records) + sum(shortfall.count for shortfall in missing)
    content = merged_manifest(settings, parts, planned=planned, recorded=len(records))
    early = interrupted(len(records), planned)
    selected = selected_of(parts, records)
    check_gates(settings, gates)
    gatekeeper = Gatekeeper(settings, (), gates, into, selected, content)
    for record in selected:
        gatekeeper.check(record, content)
    verdicts = gatekeeper.verdicts(selected, early, content)
    finished = write_merged(into, joined, settings, content, gate_rows(verdicts, len(selected)))
    windows = windows_of(content)
    selection = selection_words(finished.report.gates, len(records))
    below = [line for line, _ in gate_lines(verdicts, 0, selection=selection)]
    below += [*([] if early else gatekeeper.differences(content)), *_part_lines(finished.report, into, parts)]
    _print_run(finished, below, settings, windows, into, options.verbose)
    write_step_summary(finished.report)
    failed = any(record.outcome == "error" for record in records)
    void = is_void(selected, windows, settings.max_errors)
    return exit_status(int(failed), fault=False, early=bool(early), void=void, verdicts=verdicts)


def _target_folder(options: argparse.Namespace) -> Path:
    """The folder to write into: `--into`, else the run whose shards are merged. Raises `InputError`."""
    into: Path | None = options.into
    if into is not None:
        if is_shard(into) or into.is_file():
            raise InputError("--into", into, "is no run's folder")
        return into
    runs: list[Path] = options.runs
    run, *others = {run.parent.parent if is_shard(run) else run for run in runs}
    if others:
        raise InputError("RUN", ", ".join(map(str, runs)), "several runs: --into FOLDER says where to write")
    return run


def _read_parts(runs: Sequence[Path]) -> list[RunPart]:
    parts = [part for run in runs for part in ([read_part(run)] if is_shard(run) else parts_of(run))]
    parts = list({part.folder.resolve(): part for part in reversed(parts)}.values())[::-1]
    if len({part.name for part in parts}) < len(parts):  # of several runs, each with shards
        parts = [replace(part, name=relative(part.folder)) for part in parts]
    return parts


def _settings(options: argparse.Namespace, into: Path, parts: Sequence[RunPart]) -> Settings:
    known = [(part.settings, part.manifest) for part in parts if part.settings is not None]
    if not known:
        raise InputError("RUN", parts[0].name, "has no readable manifest.json, which says what was asked")
    places = Places(into.resolve(), manifests.start_of(known[0][1]), tuple(options.read))
    return merged_settings([settings for settings, _ in known], into, options.gate, options.baseline, places)


def _records_by_part(into: Path, parts: Sequence[RunPart]) -> dict[str, Sequence[Record]]:
    """The records of each part; under `""` those of that recipe that a run in `into` wrote itself."""
    recipe = next((part.recipe for part in parts if part.recipe is not None), None)
    journal = [] if into.resolve() in {part.folder.resolve() for part in parts} else read_journal(into / JOURNAL)
    of_run = [record for record in journal if record.details.recipe == recipe and not record.timing.part]
    return {"": of_run, **{part.name: part.records for part in parts}}


def _conflict_lines(conflicts: Sequence[Conflict], keep: Keep | None) -> Iterator[str]:
    for conflict in conflicts[:_MAX_CONFLICTS]:
        answers = (f"{part or THE_RUN}: {each.outcome} {each.response.text[:60]!r}" for part, each in conflict)
        yield f"conflict: {conflict[0][1].id}: {', '.join(answers)}"
    if conflicts and keep is None:
        trials = f"{counted(len(conflicts), 'trial')} with two different answers; nothing was written"
        yield f"{trials}; --conflicts first or last says whose counts, in the order of the parts"


def _print_run(
    finished: Finished, below: Sequence[str], settings: Settings, windows: Mapping[str, int], into: Path, verbose: bool
) -> None:
    """Print the run in short; `verbose`: every heatmap, table and file. `below`: gates and parts."""
    report, unscored = finished.report, unscored_lines(finished.report.records, windows)
    screen = Screen(shutil.get_terminal_size().columns, sys.stdout.isatty(), settings.heatmap_colors)
    if verbose:
        lines = [*run_lines(report, screen), *unscored, *shared_lines(report.records), *below]
        lines += [*map(relative, finished.files), next_line(report, relative(into))]
    else:
        folded_lines = [part for line in below for part in folded(line, screen.width)]
        skipped = [line for line in unscored if line.startswith("skipped")]
        short = ending(report, screen, skipped=skipped, folder=relative(into), last=len(folded_lines))
        lines = [*(line for line, _ in short), *folded_lines]
    for line in lines:
        print(encodable(line, sys.stdout.encoding))


def _part_lines(report: RunReport, into: Path, parts: Sequence[RunPart]) -> Iterator[str]:
    """The parts' versions and records of other options, and that they are merged."""
    tables = [table for part in parts if isinstance(table := part.manifest.get("versions"), Mapping)]
    versions = sorted({str(table["needlework"]) for table in tables if table.get("needlework") is not None})
    if len(versions) > 1:
        yield f"parts were made by several versions of needlework: {', '.join(versions)}"
    for part in parts:
        if part.other_records:
            yield f"{part.name} also holds {part.other_records} records of a run with other options: they are left out"
    trials = f"{len(report.records):,} of {report.planned:,} trials"
    yield f"merged {counted(len(parts), 'part')}, {trials}, into {relative(into)}"


Keep = Literal["first", "last"]
# Failures in ascending order of information: a prompt that does not fit stays too long, a server comes back.
_FAILURES: tuple[OutcomeName, ...] = ("error", "invalid", "skipped")
THE_RUN = "the run itself"


Conflict = tuple[tuple[str, Record], tuple[str, Record]]
"""Two different answers to one prompt, each with its part, in the order of these."""


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
                conflicts.append(((other_part, other), (part, record)))
            if (conflict and keep == "last") or _rank(record) > _rank(other):
                chosen[trial] = part, record
    joined = [
        replace(record, timing=replace(record.timing, part=part)) if part else record
        for part, record in chosen.values()
    ]
    return joined, conflicts


def _rank(record: Record) -> int:
    return len(_FAILURES) if record.outcome in FINAL else _FAILURES.index(record.outcome)


def _answer(record: Record) -> tuple[object, ...]:
    return record.outcome, record.score, record.response.text, record.response.finish_reason


def merged_manifest(settings: Settings, parts: Sequence[RunPart], *, planned: int, recorded: int) -> dict[str, Any]:
    """The manifest of the merged run: facts of all parts, machine of the first, a summary of each."""
    facts: dict[str, Any] = {}
    for part in parts:
        manifests.merge_facts(facts, manifests.facts_of(part.manifest))
    changed = list(dict.fromkeys(line for part in parts for line in manifests.changed_facts(part.manifest)))
    first = next(part.manifest for part in parts if part.settings is not None)
    ended = [part.manifest.get("ended") for part in parts]
    content = manifests.manifest(
        settings,
        argv=manifests.command_line(),
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
    """Write the journal, the manifest and all files. `records`: with the part of each in its `timing`.

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
        manifests.write_manifest(into / MANIFEST, {**content, "ended": None})
        latest, planned, notes = latest_of_each(records), int(content["planned"]), manifests.notes_of(content)
        finished = finish(into, latest, settings, planned=planned, gates=gates, notes=notes, manifest=content)
        manifests.write_manifest(into / MANIFEST, content)
    return finished


def selected_of(parts: Sequence[RunPart], records: Sequence[Record]) -> list[Record]:
    """The records of a merged run that are of its shards' cells; all if a part is no shard."""
    tests = [part.planned.tests for part in parts if part.planned is not None]
    return of_tests(records, chain(*tests)) if len(tests) == len(parts) else list(records)


def missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    """A line for each part: the cells that it lacks, and what to do."""
    for part in missing:
        trials = counted(part.count, "trial")
        if not part.begun:
            yield f"{part.part} is missing ({trials}): run it, with the command of the others"
            continue
        cells = first_few(part.cells, _MAX_CELLS)
        yield f"{part.part} lacks {trials}{f': {cells}' if cells else ''}; run it again: it goes on"


def check_agreement(parts: Sequence[RunPart]) -> None:
    """Refuse parts of different runs. Raises `InputError` with the part and what differs."""
    first = next((part for part in parts if part.recipe is not None), parts[0])
    for part in parts:
        recipes = (part.recipe, first.recipe) if part.recipe else (_planned_recipe(part), _planned_recipe(first))
        if None not in recipes and recipes[0] != recipes[1]:
            lines = differing_parts(first.manifest or None, part.manifest or None)
            lines = [line for line in lines if not line.startswith("versions")][:4] or ["in what no manifest names"]
            remedy = f"is of another recipe than {first.name}: {'; '.join(lines)}; runs of other options are no parts"
            remedy += " of one run"
            if any(line.startswith("base_url: ") for line in lines):
                remedy += "; --server-id NAME, given to every shard, names servers that are alike"
            raise InputError("RUN", part.name, f"{remedy} (nothing was written)")
        if lines := changed_parts(first.manifest, part.manifest):
            remedy = f"was made of something else than {first.name}: {'; '.join(lines[:4])}; such answers are not of"
            raise InputError("RUN", part.name, f"{remedy} one model and prompt (nothing was written)")


def _planned_recipe(part: RunPart) -> str | None:
    return None if part.settings is None else manifests.recipe_of(part.settings)


def merged_settings(
    parts: Sequence[Settings], into: Path, gates: Sequence[str], baseline: str | None, places: Places
) -> Settings:
    """The first part's settings, with every length, depth and repeat of any part, and without its shard.

    `gates` and `baseline` of the merge replace those of the parts. A baseline of the parts has to lie where `places`
    allows it.
    """
    first = parts[0]
    if baseline is None and first.baseline is not None and (gates or first.gate):
        baseline = safe_value(BY_KEY["baseline"], first.baseline, places)
    return replace(
        first,
        suites=tuple(_merged_suite(suites) for suites in zip(*(part.suites for part in parts), strict=True)),
        shard=None,
        top_up=0,
        fresh=False,
        results_dir=into.parent,
        run_name=into.name,
        gate=tuple(gates) or first.gate,
        baseline=baseline or first.baseline,
    )


def _merged_suite(suites: Sequence[Suite]) -> Suite:
    axes = {
        axis: tuple(dict.fromkeys(chain.from_iterable(getattr(suite, axis) for suite in suites)))
        for axis in ("lengths", "depths", "controls", "variants")
    }
    return replace(suites[0], **axes, repeats=max(suite.repeats for suite in suites))
