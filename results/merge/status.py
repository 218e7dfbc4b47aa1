"""`needlework status`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.grid import parse_id
from needlework.results.merge.shards import Missing, RunPart, absent_shards, parts_of
from needlework.results.records.journal import WAITING_FILES, read_waiting
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.records.samples import latest_of_each
from needlework.results.style import one_line


def main(argv: Sequence[str]) -> int:
    """Run the command; returns 0, or 2 after one line about wrong input."""
    options = _parser().parse_args(argv)
    try:
        found = progress_of_run(options.run, time.time())
    except InputError as error:
        return refuse("status", error)
    if options.json:
        total = {name: sum(getattr(each, name) for each in found) for name in ("done", "expected", "errors")}
        parts = [asdict(each) for each in found]
        print(json.dumps({"run": str(options.run), **total, "left_s": time_left(found), "parts": parts}))
    else:
        print(*status_lines(found), sep="\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework status",
        description="How far a run and each of its shards are, from the files in its folder: trials that are done,"
        " expected and failed, trials a minute, time left. Shards may be running, anywhere.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("--json", action="store_true", help="one object; times in seconds")
    return parser


_HEAD = ("part", "done", "errors", "a minute", "left", "state")
# Longer than most answers take. A process that is silent for so long may be at work on a very long prompt, or dead.
_LONG_S = 300


def status_lines(found: Sequence[PartProgress]) -> Iterator[str]:
    """A line for each part, and one for all of them together."""
    rows = [_HEAD, *map(_row, found)]
    if len(found) > 1:
        done, expected, errors = (sum(getattr(each, name) for each in found) for name in ("done", "expected", "errors"))
        speeds = [each.per_minute for each in found if each.per_minute is not None]
        rows.append(("all", _done(done, expected), str(errors), _speed(sum(speeds)), clock(time_left(found)), ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(each: PartProgress) -> tuple[str, ...]:
    state = each.state
    told: str = state
    if state == "writing" and each.quiet_s is not None:
        told = f"last answer {clock(each.quiet_s)} ago"
        if each.quiet_s > _LONG_S:
            told += ": killed? the same command goes on"
    left = "" if state == "ended" else clock(each.left_s)
    return one_line(each.name), _done(each.done, each.expected), str(each.errors), _speed(each.per_minute), left, told


def _done(done: int, expected: int) -> str:
    share = f" ({100 * done // expected} %)" if expected else ""
    return f"{done:,} of {expected:,}{share}"


def _speed(per_minute: float | None) -> str:
    return f"{per_minute:,.1f}" if per_minute else ""


def clock(seconds: float | None) -> str:
    """`1:05:09`, `5:09`; empty where nobody knows."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


State = Literal["ended", "interrupted", "writing", "not begun"]


@dataclass(frozen=True, slots=True)
class PartProgress:
    """One part of a run. `done`: trials with a record, or an answer that waits for its test; `errors`: of those, what
    resuming tries again. `per_minute`: trials, `left_s`: seconds, both as this session has been going, `None` before
    its first. `quiet_s`: seconds since the last sign; `None` for a shard that has no folder.

    `writing`: it has not ended. Whether its process lives can be told from `quiet_s` alone.
    """

    name: str
    state: State
    done: int
    expected: int
    errors: int
    per_minute: float | None = None
    left_s: float | None = None
    quiet_s: float | None = None


def progress_of_run(run: Path, now: float) -> list[PartProgress]:
    """Every part of a run, shards without a folder too. `now`: seconds since 1970. Raises `InputError`."""
    parts = list(parts_of(run))
    return [*(_progress(part, now) for part in parts), *map(_not_begun, absent_shards(parts))]


def time_left(found: Sequence[PartProgress]) -> float | None:
    """Seconds until the slowest part ends, as long as nothing changes; `None` where one cannot be told."""
    still = [each.left_s for each in found if each.state != "ended"]
    return None if None in still else max((left for left in still if left is not None), default=0.0)


def _progress(part: RunPart, now: float) -> PartProgress:
    records = latest_of_each(part.records)
    planned = part.manifest.get("planned")
    tests = {record.nodeid: record.length for record in records}
    expected = len(tests) + max(0, planned - len(tests)) if isinstance(planned, int) else len(tests)
    remaining: int | None = None
    if part.planned is not None:
        own = set(part.planned.tests)
        tests = {nodeid: length for nodeid, length in tests.items() if nodeid in own}
        expected = len(own)
        remaining = sum(map(_length, own - tests.keys()))
    keys = {record.key for record in records}
    ended = part.manifest.get("ended") is not None
    waiting = 0 if ended else sum(answer.key not in keys for answer in read_waiting(part.folder))
    done = min(expected, len(tests) + waiting)
    errors = sum(record.outcome in ("error", "invalid") for record in records if record.nodeid in tests)
    state: State = "writing" if not ended else "ended" if done >= expected else "interrupted"
    last = _last_sign(part.folder)
    seconds = _seconds(_session_began(part), last) if state == "writing" else None
    before = part.manifest.get("recorded")  # of a run that has not ended: what earlier sessions had done
    since = done - (before if isinstance(before, int) else 0)
    speed = since / seconds if seconds and since > 0 else None
    left = None
    if speed is not None and seconds:
        left = (expected - done) / speed
        if remaining is not None and not waiting and len(tests) == done:
            # By tokens, which is what takes time: the long ones may be left.
            asked = sum(tests.values()) * since / done
            left = seconds * remaining / asked if asked else left
    return PartProgress(
        part.name, state, done, expected, errors, speed and 60 * speed, 0.0 if state == "ended" else left,
        None if last is None else max(0.0, now - last),
    )  # fmt: skip


def _not_begun(missing: Missing) -> PartProgress:
    return PartProgress(missing.part, "not begun", 0, missing.count, 0)


def _session_began(part: RunPart) -> object:
    """When the session began that writes; a run that goes on keeps the date at which it began."""
    return part.manifest.get("session_started", part.manifest.get("started"))


def _length(nodeid: str) -> int:
    cell = parse_id(nodeid)
    return cell.length if cell else 0


def _last_sign(folder: Path) -> float | None:
    """When a file of the folder that grows with each answer changed last."""
    return max(_changed(_growing(folder)), default=None)


def _growing(folder: Path) -> Iterable[Path]:
    return (folder / JOURNAL, folder / MANIFEST, *folder.glob(WAITING_FILES))


def _changed(paths: Iterable[Path]) -> Iterable[float]:
    for path in paths:
        with suppress(OSError):
            yield path.stat().st_mtime


def _seconds(started: object, until: float | None) -> float | None:
    with suppress(ValueError):
        if isinstance(started, str) and until is not None:
            return max(0.0, until - datetime.fromisoformat(started).timestamp()) or None
    return None
