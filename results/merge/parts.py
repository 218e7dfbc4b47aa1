"""The parts of a run: the folders of its shards, what is missing of them, and whether they belong to one run."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from needlework.core.devices import Shard
from needlework.core.errors import InputError
from needlework.core.grid import parse_id
from needlework.core.record import Record
from needlework.core.settings import Places, Settings, Suite, check_tree
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.stored_settings import safe_value
from needlework.results.files.read_run import manifest_at
from needlework.results.records.journal import read_journal
from needlework.results.records.manifest import recipe_of, settings_of
from needlework.results.records.run_folder import JOURNAL, MANIFEST, SHARD_FILE, SHARDS, Planned, read_shard_file
from needlework.results.records.samples import name_of_test, of_tests
from needlework.results.statistics.comparison.provenance import differing_parts

_SHARD_NAME = re.compile(r"([0-9]+)-of-([0-9]+)")
_MAX_CELLS = 5  # cells that a message names
Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True, slots=True)
class RunPart:
    """A folder that one process wrote: a shard, or a run without shards."""

    name: str
    folder: Path
    manifest: Mapping[str, Any]
    settings: Settings | None  # of the manifest; `None` if it cannot be read
    recipe: str | None  # of `records`; `None` without any
    manifest_recipe: str | None
    records: tuple[Record, ...]  # those of the last recipe, in the order written
    other_records: int  # how many records of other recipes the folder has
    planned: Planned | None  # the tests of a shard


def parts_of(run: Path) -> Iterator[RunPart]:
    """The shards of a run in their order, or the run itself if it has none. Raises `InputError`."""
    check_tree(run / SHARDS, run)
    files = (JOURNAL, SHARD_FILE, MANIFEST)
    shards = [
        folder
        for folder in (run / SHARDS).glob("*-of-*")
        if _SHARD_NAME.fullmatch(folder.name) and any((folder / name).is_file() for name in files)
    ]
    for folder in sorted(shards, key=_shard_order):
        yield read_part(folder, f"{folder.parent.name}/{folder.name}")
    if not shards:
        if not (run / JOURNAL).is_file():
            remedy = "has no journal.jsonl and no shards; give a run's folder" if run.exists() else "does not exist"
            raise InputError("RUN", run, remedy)
        yield read_part(run, run.resolve().name)


def _shard_order(folder: Path) -> tuple[int, int]:
    number, of = folder.name.split("-of-")
    return int(of), int(number)


def is_shard(folder: Path) -> bool:
    """Whether a folder is one of a run's shards."""
    return folder.parent.name == SHARDS and _SHARD_NAME.fullmatch(folder.name) is not None


def read_part(folder: Path, name: str) -> RunPart:
    """Read a part's folder. Raises `InputError` if its journal cannot be read."""
    manifest, journal = manifest_at(folder / MANIFEST), read_journal(folder / JOURNAL)
    try:
        settings = settings_of(manifest)
    except InputError:
        settings = None
    manifest_recipe = recipe_of(settings) if settings else None
    # A manifest lacks secrets, so that its recipe may differ from that of the records.
    recipes = {record.details.recipe for record in journal}
    recipe = manifest_recipe if manifest_recipe in recipes else journal[-1].details.recipe if journal else None
    records = tuple(record for record in journal if record.details.recipe == recipe)
    return RunPart(
        name=name,
        folder=folder,
        manifest=manifest,
        settings=settings,
        recipe=recipe,
        manifest_recipe=manifest_recipe,
        records=records,
        other_records=len(journal) - len(records),
        planned=read_shard_file(folder),
    )


def selected_of(parts: Sequence[RunPart], records: Sequence[Record]) -> list[Record]:
    """Of a merged run's records those of the cells that its shards are to ask; all if a part is no shard."""
    tests = [part.planned.tests for part in parts if part.planned is not None]
    return of_tests(records, chain(*tests)) if len(tests) == len(parts) else list(records)


@dataclass(frozen=True, slots=True)
class Missing:
    """Trials that a part was to have and has not."""

    part: str
    count: int
    cells: tuple[str, ...]  # their ids, as far as they are known
    begun: bool  # whether the part has a folder at all


def missing_of(parts: Sequence[RunPart], records: Sequence[Record]) -> list[Missing]:
    """The missing trials of a run with these parts and records: trials of a part, and whole shards."""
    recorded = {_portable_test(record.nodeid) for record in records}
    missing = []
    for part in parts:
        if part.planned is not None:
            tests = [test for test in part.planned.tests if _portable_test(test) not in recorded]
            cells = tuple(test.partition("[")[2].removesuffix("]") for test in tests)
            missing.append(Missing(part.name, len(cells), cells, begun=True))
        else:
            planned = part.manifest.get("planned")
            done = len({_portable_test(record.nodeid) for record in part.records})
            count = max(0, planned - done) if isinstance(planned, int) else 0
            missing.append(Missing(part.name, count, (), begun=True))
    return [each for each in (*missing, *absent_shards(parts)) if each.count]


def absent_shards(parts: Sequence[RunPart]) -> Iterator[Missing]:
    """The shards of each division that have no folder; none if one division of the same cells is whole."""
    divisions: dict[tuple[str, tuple[int, ...]], set[int]] = {}
    for part in parts:
        if part.planned is not None:
            division = part.planned.division
            divisions.setdefault((division.selection, division.counts), set()).add(division.shard.number)
    absent = {
        (selection, counts): [number for number, count in enumerate(counts, 1) if count and number not in present]
        for (selection, counts), present in divisions.items()
    }
    whole = {selection for (selection, _), numbers in absent.items() if not numbers}
    for (selection, counts), numbers in absent.items():
        for number in numbers if selection not in whole else ():
            yield Missing(f"shards/{Shard(number, len(counts)).name}", counts[number - 1], (), begun=False)


def missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    """A line for each part: the cells that it lacks, and what to do."""
    for each in missing:
        trials = f"{each.count:,} {'trial' if each.count == 1 else 'trials'}"
        if not each.begun:
            yield f"{each.part} is missing ({trials}): run it, with the command of the others"
            continue
        cells = ", ".join(each.cells[:_MAX_CELLS])
        more = f" and {len(each.cells) - _MAX_CELLS} more" if len(each.cells) > _MAX_CELLS else ""
        yield f"{each.part} lacks {trials}{f': {cells}{more}' if cells else ''}; run it again: it goes on"


def _portable_test(nodeid: str) -> str:
    """A test's name, the same in whatever folder pytest runs."""
    cell = parse_id(nodeid)
    return f"{name_of_test(nodeid, cell.id)} {cell.id}" if cell else nodeid


# Facts of a manifest that have to be equal in all parts.
_FACTS = ("corpora", "tokenizers", "prompts", "embedders")
# Facts of a model that do not change its answers. Each process finds out by trying which kernels are faster.
_HARMLESS = frozenset({"server", "window_source", "server total_slots", "kernels"})
_CALIBRATION = "calibration "


def check_agreement(parts: Sequence[RunPart]) -> None:
    """Refuse parts of different runs. Raises `InputError` with the part and what differs."""
    first = next((part for part in parts if part.recipe is not None), parts[0])
    for part in parts:
        same_recipe = _agree(part.recipe, first.recipe)
        if not same_recipe or (part.recipe is None and not _agree(part.manifest_recipe, first.manifest_recipe)):
            lines = differing_parts(first.manifest or None, part.manifest or None)
            lines = [line for line in lines if not line.startswith("versions")][:4] or ["in what no manifest names"]
            remedy = f"is of another recipe than {first.name}: {'; '.join(lines)}; runs of other options are no parts"
            remedy += " of one run"
            if any(line.startswith("base_url: ") for line in lines):
                remedy += "; --server-id NAME, given to every shard, names servers that are alike"
            raise InputError("RUN", part.name, f"{remedy} (nothing was written)")
        differing = list(differing_facts(first.manifest, part.manifest))
        if differing:
            facts = "; ".join(differing[:4])
            remedy = f"was made of something else than {first.name}: {facts}; such answers are not of one model"
            raise InputError("RUN", part.name, f"{remedy} and prompt (nothing was written)")


def _agree(first: str | None, second: str | None) -> bool:
    """Whether two recipes are equal, as far as both are known."""
    return None in (first, second) or first == second


def differing_facts(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each fact that two manifests state differently: `models m window: 8192 / 4096`.

    A shard that loaded no model, or whose server does not report a fact, differs in nothing.
    """
    for name in _FACTS:
        a, b = _table(first.get(name)), _table(second.get(name))
        for key in sorted(a.keys() & b.keys()):
            if a[key] != b[key]:
                yield f"{name} {key}: {_short(a[key])} / {_short(b[key])}"
    a, b = _table(first.get("models")), _table(second.get("models"))
    for model in sorted(a.keys() & b.keys()):
        one, other = _table(a[model]), _table(b[model])
        for name in sorted(one.keys() & other.keys() - _HARMLESS):
            values = one[name], other[name]
            # Each shard calibrates by itself: a failed calibration contradicts no number.
            is_known = not name.startswith(_CALIBRATION) or all(str(value).startswith("exact") for value in values)
            if values[0] != values[1] and None not in values and is_known:
                yield f"model {model} {name}: {_short(values[0])} / {_short(values[1])}"


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(value: object) -> str:
    sha = value.get("sha256") if isinstance(value, Mapping) else None
    text = " ".join(str(sha or value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."


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
    suites = tuple(_merged_suite([part.suites[index] for part in parts]) for index in range(len(first.suites)))
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


def _merged_suite(suites: Sequence[Suite]) -> Suite:
    return replace(
        suites[0],
        lengths=_unique(suite.lengths for suite in suites),
        depths=_unique(suite.depths for suite in suites),
        controls=_unique(suite.controls for suite in suites),
        variants=_unique(suite.variants for suite in suites),
        repeats=max(suite.repeats for suite in suites),
    )


def _unique(tuples: Iterable[tuple[Value, ...]]) -> tuple[Value, ...]:
    """Every value once, in the order of the first occurrence."""
    return tuple(dict.fromkeys(chain.from_iterable(tuples)))
