"""The shards of a run: settings, agreement, what is missing, the records of all."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import structs
from msgspec.structs import replace

from needlework.core.devices import Shard
from needlework.core.errors import InputError
from needlework.core.grid import parse_id
from needlework.core.record import FINAL, OutcomeName, Record
from needlework.core.settings import Places, Settings, Suite, check_tree
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.stored_settings import safe_value
from needlework.results.files.read_run import manifest_at
from needlework.results.gates.decide import judge_gate
from needlework.results.gates.gate import OPTION, Baseline, Verdict, load_baseline, parse_gate
from needlework.results.gates.gatekeeper import cell_of_record, check_gates
from needlework.results.records.journal import read_journal
from needlework.results.records.manifest import recipe_of, settings_of
from needlework.results.records.run_folder import JOURNAL, MANIFEST, SHARD_FILE, SHARDS, Planned, read_shard_file
from needlework.results.records.samples import answered_before, identity, name_of_test, of_tests, windows_of
from needlework.results.statistics.comparison.provenance import check_dtypes, differing_parts
from needlework.results.tables.comparison import differing_lines

_SHARD = re.compile(r"([0-9]+)-of-([0-9]+)")


@dataclass(frozen=True, slots=True)
class RunPart:
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


def parts_of(run: Path) -> Iterator[RunPart]:
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


def read_part(folder: Path, name: str) -> RunPart:
    """Read what a process left in its folder. Raises `InputError` where its journal cannot be read."""
    manifest, journal = manifest_at(folder / MANIFEST), read_journal(folder / JOURNAL)
    try:
        settings = settings_of(manifest)
    except InputError:
        settings = None
    told = recipe_of(settings) if settings else None
    # A manifest lacks what is secret, so that its recipe may be none of the records'.
    there = {record.details.recipe for record in journal}
    recipe = told if told in there else recipe_in(journal)
    own = tuple(record for record in journal if record.details.recipe == recipe)
    return RunPart(
        name, folder, manifest, settings, recipe, told, own, len(journal) - len(own), read_shard_file(folder)
    )


def recipe_in(records: Sequence[Record]) -> str | None:
    """The recipe of the last record."""
    return records[-1].details.recipe if records else None


def _order(folder: Path) -> tuple[int, int]:
    number, of = folder.name.split("-of-")
    return int(of), int(number)


_SHOWN = 5  # cells that are named


@dataclass(frozen=True, slots=True)
class Missing:
    """What a part was to have and has not. `cells`: their names, as far as they are known; `count`: how many.

    `begun`: whether the part has a folder at all.
    """

    part: str
    count: int
    cells: tuple[str, ...]
    begun: bool


def missing_of(parts: Sequence[RunPart], records: Sequence[Record]) -> list[Missing]:
    """What is missing of a run that has these parts and records: trials of a part, and whole shards."""
    there = {_test(record.nodeid) for record in records}
    found = []
    for part in parts:
        planned = _planned(part)
        if isinstance(planned, int):
            own = len({_test(record.nodeid) for record in part.records})
            found.append(Missing(part.name, max(0, planned - own), (), begun=True))
        else:
            cells = [test.partition("[")[2].removesuffix("]") for test in planned if _test(test) not in there]
            found.append(Missing(part.name, len(cells), tuple(cells), begun=True))
    return [each for each in (*found, *absent_shards(parts)) if each.count]


def selected_of(parts: Sequence[RunPart], records: Sequence[Record]) -> list[Record]:
    """Of a merged run's records those of the cells that its shards are to ask; all where a part is no shard."""
    tests = [part.planned.tests for part in parts if part.planned is not None]
    return of_tests(records, chain(*tests)) if len(tests) == len(parts) else list(records)


def missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    """A line for each part: which cells it lacks, and what to do."""
    for each in missing:
        if not each.begun:
            yield f"{each.part} is missing ({_trials(each.count)}): run it, with the command of the others"
            continue
        named = ", ".join(each.cells[:_SHOWN])
        more = f" and {len(each.cells) - _SHOWN} more" if len(each.cells) > _SHOWN else ""
        yield f"{each.part} lacks {_trials(each.count)}{f': {named}{more}' if named else ''}; run it again: it goes on"


def _planned(part: RunPart) -> tuple[str, ...] | int:
    """The tests of a shard; of another part how many there are to be, as its manifest says."""
    if part.planned is not None:
        return part.planned.tests
    planned = part.manifest.get("planned")
    return planned if isinstance(planned, int) else 0


def absent_shards(parts: Sequence[RunPart]) -> Iterator[Missing]:
    """Shards that have not begun, of those that were divided together, unless one such division is all there."""
    divisions: dict[tuple[str, tuple[int, ...]], dict[int, RunPart]] = {}
    for part in parts:
        if part.planned is not None:
            division = part.planned.division
            divisions.setdefault((division.selection, division.counts), {})[division.shard.number] = part
    absent = {
        (selection, counts): [number for number, count in enumerate(counts, 1) if count and number not in there]
        for (selection, counts), there in divisions.items()
    }
    whole = {selection for (selection, _), numbers in absent.items() if not numbers}
    for (selection, counts), numbers in absent.items():
        for number in numbers if selection not in whole else ():
            yield Missing(f"shards/{Shard(number, len(counts)).name}", counts[number - 1], (), begun=False)


def _test(nodeid: str) -> str:
    """A test's name wherever pytest runs."""
    cell = parse_id(nodeid)
    return f"{name_of_test(nodeid, cell.id)} {cell.id}" if cell else nodeid


def _trials(count: int) -> str:
    return f"{count:,} {'trial' if count == 1 else 'trials'}"


_NAMED = ("corpora", "tokenizers", "prompts", "embedders")
# Where a model is, and what does not change its answers. Which kernels are faster, each process finds out by trying.
_PLACES = frozenset({"server", "window_source", "server total_slots", "kernels"})
_CALIBRATION = "calibration "


def check_agreement(parts: Sequence[RunPart]) -> None:
    """Refuse parts of different runs. Raises `InputError` with the part and what differs."""
    first = next((part for part in parts if part.recipe is not None), parts[0])
    for part in parts:
        if _other(part.recipe, first.recipe) or (part.recipe is None and _other(part.told, first.told)):
            lines = differing_parts(first.manifest or None, part.manifest or None)
            said = [line for line in lines if not line.startswith("versions")][:4] or ["in what no manifest names"]
            remedy = f"is of another recipe than {first.name}: {'; '.join(said)}; runs of other options are no parts"
            servers = (
                "; --server-id NAME, given to every shard, names servers that are alike" if _addresses(said) else ""
            )
            raise InputError("RUN", part.name, f"{remedy} of one run{servers} (nothing was written)")
        differing = list(differing_facts(first.manifest, part.manifest))
        if differing:
            shown = "; ".join(differing[:4])
            remedy = f"was made of something else than {first.name}: {shown}; such answers are not of one model"
            raise InputError("RUN", part.name, f"{remedy} and prompt (nothing was written)")


def _other(one: str | None, other: str | None) -> bool:
    return None not in (one, other) and one != other


def _addresses(lines: Sequence[str]) -> bool:
    return any(line.startswith("base_url: ") for line in lines)


def differing_facts(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    """Say which facts differ that two manifests both tell: `models m window: 8192 / 4096`.

    A shard that loaded no model, or whose server did not say, tells nothing that could differ.
    """
    for name in _NAMED:
        a, b = _table(first.get(name)), _table(second.get(name))
        for each in sorted(a.keys() & b.keys()):
            if a[each] != b[each]:
                yield f"{name} {each}: {_short(a[each])} / {_short(b[each])}"
    a, b = _table(first.get("models")), _table(second.get("models"))
    for model in sorted(a.keys() & b.keys()):
        yield from (f"model {model} {line}" for line in _differing(_table(a[model]), _table(b[model])))


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(first.keys() & second.keys() - _PLACES):
        one, other = first[name], second[name]
        # Each shard calibrates by itself: one that could not says nothing of the other's number.
        calibrated = not name.startswith(_CALIBRATION) or all(str(told).startswith("exact") for told in (one, other))
        if one != other and None not in (one, other) and calibrated:
            yield f"{name}: {_short(one)} / {_short(other)}"


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(value: object) -> str:
    sha = value.get("sha256") if isinstance(value, Mapping) else None
    text = " ".join(str(sha or value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."


Value = TypeVar("Value", bound=Hashable)


def merged_settings(
    parts: Sequence[Settings], into: Path, gates: Sequence[str], baseline: str | None, places: Places
) -> Settings:
    """The first part's settings, with every length, depth and repeat that a part asked, and without its shard.

    `gates`, `baseline`: what the merge was given, in place of what the parts were given. A baseline of the parts has to
    lie where `places` allows it.
    """
    first = parts[0]
    if baseline is None and first.baseline is not None and (gates or first.gate):
        baseline = safe_value(BY_KEY["baseline"], first.baseline, places)
    suites = tuple(_suite([part.suites[place] for part in parts]) for place in range(len(first.suites)))
    return replace(
        first,
        suites=suites,
        shard=None,
        top_up=0,
        fresh=False,
        results_dir=into.parent,
        run_name=into.name,
        gate=tuple(gates) or first.gate,
        baseline=baseline or first.baseline,
    )


def _suite(parts: Sequence[Suite]) -> Suite:
    return replace(
        parts[0],
        lengths=_all(part.lengths for part in parts),
        depths=_all(part.depths for part in parts),
        controls=_all(part.controls for part in parts),
        variants=_all(part.variants for part in parts),
        repeats=max(part.repeats for part in parts),
    )


def _all(found: Iterable[tuple[Value, ...]]) -> tuple[Value, ...]:
    """Every value once, in the order of the first that has it."""
    return tuple(dict.fromkeys(value for values in found for value in values))


Identity = tuple[str, str, str]
Keep = Literal["first", "last"]
# Of failures, the one that says most: that a prompt does not fit is a fact, that a server was down is none.
_FAILURES: tuple[OutcomeName, ...] = ("error", "invalid", "skipped")


@dataclass(frozen=True, slots=True)
class Twice:
    """A trial that two parts have different records of: the parts and their records, in the order of the parts."""

    parts: tuple[str, str]
    records: tuple[Record, Record]


@dataclass(frozen=True, slots=True)
class Union:
    """`records`: one for each trial, with the name of its part in `timing`. `conflicts`: two different answers to one
    prompt; `foreign`: two prompts under one name."""

    records: tuple[Record, ...]
    conflicts: tuple[Twice, ...]
    foreign: tuple[Twice, ...]


def union(parts: Mapping[str, Sequence[Record]], keep: Keep = "first") -> Union:
    """Join the records of parts, by their names; the name `""` is of the folder that is merged into.

    An answer beats any failure. Of two answers that are alike the first part's stays, of two that differ the one that
    `keep` says.
    """
    found: dict[Identity, tuple[str, Record]] = {}
    conflicts, foreign = [], []
    for part, records in parts.items():
        for at, record in _latest(records).items():
            if at not in found:
                found[at] = part, record
                continue
            other, before = found[at]
            both = Twice((other, part), (before, record))
            if "" not in (before.key, record.key) and before.key != record.key:
                foreign.append(both)
            elif {before.outcome, record.outcome} <= FINAL:
                if _answer(before) != _answer(record):
                    conflicts.append(both)
                    if keep == "last":
                        found[at] = part, record
            elif _rank(record) > _rank(before):
                found[at] = part, record
    return Union(tuple(_of(part, record) for part, record in found.values()), tuple(conflicts), tuple(foreign))


def _latest(records: Sequence[Record]) -> dict[Identity, Record]:
    """The records that count of one journal."""
    latest: dict[Identity, Record] = {}
    for record in records:
        at = identity(record)
        if at not in latest or not answered_before(latest[at], record):
            latest[at] = record
    return latest


def _rank(record: Record) -> int:
    outcome = record.outcome
    return len(_FAILURES) if outcome in FINAL else _FAILURES.index(outcome)


def _answer(record: Record) -> tuple[object, ...]:
    response = record.response
    return record.outcome, record.score, response.text, response.finish_reason


def _of(part: str, record: Record) -> Record:
    if not part:
        return record
    return structs.replace(record, timing=structs.replace(record.timing, part=part))


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """The verdicts, and lines on what differs from the baseline besides the scores."""

    verdicts: list[Verdict]
    differences: list[str]


def judged(
    settings: Settings, records: Sequence[Record], manifest: Mapping[str, Any], into: Path, interrupted: str
) -> GateOutcome:
    """Judge the run's gates. `manifest`: of the merged run, `interrupted`: why it is not whole, if it is not.

    Raises `InputError` for a gate that is none, and a baseline that cannot be compared with.
    """
    gates = [parse_gate(text) for text in settings.gate]
    check_gates(settings, gates)
    if not gates:
        return GateOutcome([], [])
    baseline = _baseline(settings, records, manifest, into)
    if baseline is not None:
        for record in records:
            baseline.check(record)
        if not settings.allow_different_dtypes:
            check_dtypes(OPTION, baseline.path, baseline.manifest, manifest)
    if interrupted:
        return GateOutcome(
            [Verdict(gate.text, "all", "inconclusive", note=f"void: {interrupted}") for gate in gates], []
        )
    windows = windows_of(manifest)
    verdicts = [verdict for gate in gates for verdict in judge_gate(gate, records, baseline, windows=windows)]
    parts = differing_parts(baseline.manifest or None, manifest) if baseline else []
    told = differing_lines(parts, "the baseline and this run", "told by needlework compare") if parts else []
    return GateOutcome(verdicts, told)


def _baseline(
    settings: Settings, records: Sequence[Record], manifest: Mapping[str, Any], into: Path
) -> Baseline | None:
    if settings.baseline is None:
        return None
    path = Path(settings.baseline).expanduser()
    if not path.exists():  # as the shards were given it, seen from where they ran
        path = Path(str(manifest.get("folder", ""))) / path
    if into.resolve() in (path.resolve(), path.resolve().parent):
        raise InputError(OPTION, path, "is the folder that is merged into; give another --into")
    return load_baseline(path, [(record.model, cell_of_record(record)) for record in records], settings.seed)
