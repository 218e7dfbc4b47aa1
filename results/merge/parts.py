"""The parts of a run: shards and missing trials; `needlework status`: how far each is."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

from needlework.core.devices import Shard
from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.grid import parse_id
from needlework.core.record import Record
from needlework.core.settings import Settings, check_tree
from needlework.results.records.journal import WAITING_FILES, read_journal, read_waiting
from needlework.results.records.manifest import manifest_at, recipe_of, settings_of
from needlework.results.records.run_folder import JOURNAL, MANIFEST, SHARD_FILE, SHARDS, Planned, read_shard_file
from needlework.results.records.samples import began, grouped, latest_of_each, name_of_test
from needlework.results.style import clock, folded_table, one_line

_SHARD_NAME = re.compile(r"([0-9]+)-of-([0-9]+)")
_HEAD = ("part", "done", "errors", "a minute", "left", "state")


class RunPart(Struct, frozen=True):
    """A folder that one process wrote: a shard, or a run without shards."""

    name: str
    folder: Path
    manifest: Mapping[str, Any]
    settings: Settings | None  # of the manifest; `None` if it cannot be read
    recipe: str | None  # of `records`; `None` without any
    records: tuple[Record, ...]  # those of the last recipe, in the order written
    other_records: int  # how many records of other recipes the folder has
    planned: Planned | None  # the tests of a shard


def parts_of(run: Path) -> list[RunPart]:
    """The shards of a run in their order, or the run itself if it has none. Raises `InputError`."""
    check_tree(run / SHARDS, run)
    files = (JOURNAL, SHARD_FILE, MANIFEST)
    folders = [
        folder
        for folder in (run / SHARDS).glob("*-of-*")
        if is_shard(folder) and any((folder / name).is_file() for name in files)
    ]
    if folders:
        folders.sort(key=lambda folder: [int(number) for number in reversed(folder.name.split("-of-"))])
        return [read_part(folder) for folder in folders]
    if not (run / JOURNAL).is_file():
        remedy = "has no journal.jsonl and no shards; give a run's folder" if run.exists() else "does not exist"
        raise InputError("RUN", run, remedy)
    return [read_part(run)]


def is_shard(folder: Path) -> bool:
    """Whether a folder is one of a run's shards."""
    return folder.parent.name == SHARDS and _SHARD_NAME.fullmatch(folder.name) is not None


def read_part(folder: Path) -> RunPart:
    """Read a part's folder. Raises `InputError` if its journal cannot be read."""
    manifest, journal = manifest_at(folder / MANIFEST), read_journal(folder / JOURNAL)
    try:
        settings = settings_of(manifest)
    except InputError:
        settings = None
    # A manifest lacks secrets, so that its recipe may differ from that of the records.
    recipe = recipe_of(settings) if settings else None
    if recipe not in {record.details.recipe for record in journal}:
        recipe = journal[-1].details.recipe if journal else None
    records = tuple(record for record in journal if record.details.recipe == recipe)
    name = f"{SHARDS}/{folder.name}" if is_shard(folder) else folder.resolve().name
    others = len(journal) - len(records)
    return RunPart(name, folder, manifest, settings, recipe, records, others, read_shard_file(folder))


class Missing(Struct, frozen=True):
    """Planned trials of a part that have no record."""

    part: str
    count: int
    cells: tuple[str, ...] = ()  # their ids, as far as they are known
    begun: bool = True  # whether the part has a folder at all


def missing_of(parts: Sequence[RunPart], records: Sequence[Record]) -> list[Missing]:
    """The missing trials of a run with these parts and records: trials of a part, and whole shards."""
    recorded = {_portable_test(record.nodeid) for record in records}
    missing = []
    for part in parts:
        if part.planned is not None:
            tests = [test for test in part.planned.tests if _portable_test(test) not in recorded]
            cells = tuple(test.partition("[")[2].removesuffix("]") for test in tests)
            missing.append(Missing(part.name, len(cells), cells))
        elif isinstance(planned := part.manifest.get("planned"), int):
            done = len({_portable_test(record.nodeid) for record in part.records})
            missing.append(Missing(part.name, max(0, planned - done)))
    return [shortfall for shortfall in (*missing, *absent_shards(parts)) if shortfall.count]


def absent_shards(parts: Sequence[RunPart]) -> Iterator[Missing]:
    """The shards of each division that have no folder; none if one division of the same cells is whole."""
    present = [part.planned for part in parts if part.planned is not None]
    absent = {
        key: {number for number, count in enumerate(key[1], 1) if count} - {each.shard for each in members}
        for key, members in grouped(present, lambda planned: (planned.selection, planned.counts)).items()
    }
    whole = {selection for (selection, _), numbers in absent.items() if not numbers}
    for (selection, counts), numbers in absent.items():
        for number in sorted(numbers) if selection not in whole else ():
            yield Missing(f"{SHARDS}/{Shard(number, len(counts)).name}", counts[number - 1], begun=False)


def _portable_test(nodeid: str) -> str:
    """A test's name, the same in whatever folder pytest runs."""
    cell = parse_id(nodeid)
    return f"{name_of_test(nodeid, cell.id)} {cell.id}" if cell else nodeid


def main(argv: Sequence[str]) -> int:
    """Run the command; returns 0, or 2 after one line about wrong input."""
    parser = OneLineParser(
        prog="needlework status",
        description="How far a run and each of its shards are, from the files in its folder: trials that are done,"
        " expected and failed, trials a minute, time left. Shards may be running, anywhere.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("--json", action="store_true", help="one object; times in seconds")
    options = parser.parse_args(argv)

    def show() -> None:
        parts = progress_of_run(options.run, time.time())
        if options.json:
            total = asdict(total_of(parts))
            content = {name: total[name] for name in ("done", "expected", "errors", "left_s")}
            print(json.dumps({"run": str(options.run), **content, "parts": list(map(asdict, parts))}))
        else:
            rows = [_HEAD, *map(_row, (*parts, total_of(parts)) if len(parts) > 1 else parts)]
            print(*folded_table(rows, len(_HEAD)), sep="\n")

    return run_command("status", show)


State = Literal["ended", "interrupted", "writing", "not begun", ""]
_SILENT_S = 300  # a process that is silent for longer works on a very long prompt, or is dead


class PartProgress(Struct, frozen=True):
    """The progress of one part of a run."""

    name: str
    state: State  # `writing`: it has not ended; whether its process lives, `quiet_s` alone can tell
    done: int  # trials with a record, or with an answer that is not scored yet
    expected: int
    errors: int  # of the trials done, those that resuming asks again
    per_minute: float | None = None  # trials of this session; `None` before the first
    left_s: float | None = None  # seconds, estimated from this session
    quiet_s: float | None = None  # seconds since a file changed; `None` for a shard without a folder


def total_of(parts: Sequence[PartProgress]) -> PartProgress:
    """All parts together. `left_s`: until the slowest part ends; `None` if that of one is unknown."""
    done, expected, errors = (sum(getattr(part, name) for part in parts) for name in ("done", "expected", "errors"))
    left = [part.left_s for part in parts if part.state != "ended"]
    longest = None if None in left else max((seconds for seconds in left if seconds is not None), default=0.0)
    per_minute = sum(part.per_minute or 0.0 for part in parts)
    return PartProgress("all", "", done, expected, errors, per_minute, longest)


def _row(part: PartProgress) -> tuple[str, str, str, str, str, str]:
    state: str = part.state
    if state == "writing" and part.quiet_s is not None:
        silent = ": killed? the same command goes on" if part.quiet_s > _SILENT_S else ""
        state = f"last answer {clock(part.quiet_s)} ago{silent}"
    share = f" ({100 * part.done // part.expected} %)" if part.expected else ""
    done, rate = f"{part.done:,} of {part.expected:,}{share}", f"{part.per_minute:,.1f}" if part.per_minute else ""
    left = None if part.state == "ended" else part.left_s
    return one_line(part.name), done, str(part.errors), rate, clock(left), state


def progress_of_run(run: Path, now: float) -> list[PartProgress]:
    """The progress of every part of a run, shards without a folder too. `now`: seconds since 1970."""
    parts = parts_of(run)
    absent = [PartProgress(shard.part, "not begun", 0, shard.count, 0) for shard in absent_shards(parts)]
    return [*(_progress(part, now) for part in parts), *absent]


def _progress(part: RunPart, now: float) -> PartProgress:
    records, manifest = latest_of_each(part.records), part.manifest
    lengths = {record.nodeid: record.length for record in records}
    planned, remaining = manifest.get("planned"), None
    if part.planned is not None:
        planned = len(tests := set(part.planned.tests))
        lengths = {nodeid: length for nodeid, length in lengths.items() if nodeid in tests}
        remaining = sum(cell.length for nodeid in tests - lengths.keys() if (cell := parse_id(nodeid)))
    expected = max(planned, len(lengths)) if isinstance(planned, int) else len(lengths)
    ended = manifest.get("ended") is not None
    keys = {record.key for record in records}
    waiting = 0 if ended else sum(answer.key not in keys for answer in read_waiting(part.folder))
    done = min(expected, len(lengths) + waiting)
    errors = sum(record.outcome in ("error", "invalid") for record in records if record.nodeid in lengths)
    last = _last_change(part.folder)
    quiet = None if last is None else max(0.0, now - last)
    missing = expected - done
    if ended:
        state: State = "interrupted" if missing else "ended"
        return PartProgress(part.name, state, done, expected, errors, left_s=None if missing else 0.0, quiet_s=quiet)
    # A resumed run keeps the date at which it began; its speed is that of the session that writes.
    started = began({"started": manifest.get("session_started", manifest.get("started"))})
    seconds = max(0.0, last - started.timestamp()) if started and last else 0.0
    earlier = manifest.get("recorded")  # of a run that has not ended: of earlier sessions
    since = done - (earlier if isinstance(earlier, int) else 0)
    if not seconds or since <= 0:
        return PartProgress(part.name, "writing", done, expected, errors, quiet_s=quiet)
    left = missing * seconds / since
    if remaining is not None and not waiting and len(lengths) == done:
        # By tokens, which is what takes time: the long ones may be left.
        left = seconds * remaining / (sum(lengths.values()) * since / done)
    return PartProgress(part.name, "writing", done, expected, errors, 60 * since / seconds, left, quiet)


def _last_change(folder: Path) -> float | None:
    """The time of the last change of a file that grows with each answer, in seconds since 1970."""
    times = []
    for path in (folder / JOURNAL, folder / MANIFEST, *folder.glob(WAITING_FILES)):
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times, default=None)
