"""`needlework status`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.grid import parse_id
from needlework.results.merge.parts import RunPart, absent_shards, parts_of
from needlework.results.records.journal import WAITING_FILES, read_waiting
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.records.samples import latest_of_each
from needlework.results.style import one_line


def main(argv: Sequence[str]) -> int:
    """Run the command; returns 0, or 2 after one line about wrong input."""
    options = _parser().parse_args(argv)
    try:
        parts = progress_of_run(options.run, time.time())
    except InputError as error:
        return refuse("status", error)
    if options.json:
        left = time_left(parts)
        print(
            json.dumps({"run": str(options.run), **_totals(parts), "left_s": left, "parts": list(map(asdict, parts))})
        )
    else:
        print(*status_lines(parts), sep="\n")
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
_SILENT_S = 300  # a process that is silent for longer works on a very long prompt, or is dead


def status_lines(parts: Sequence[PartProgress]) -> Iterator[str]:
    """A line for each part, and one for all of them together."""
    rows = [_HEAD, *map(_row, parts)]
    if len(parts) > 1:
        total = _totals(parts)
        speed = sum(part.per_minute for part in parts if part.per_minute is not None)
        done = _share_done(total["done"], total["expected"])
        rows.append(("all", done, str(total["errors"]), _speed(speed), clock(time_left(parts)), ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _totals(parts: Sequence[PartProgress]) -> dict[str, int]:
    return {name: sum(getattr(part, name) for part in parts) for name in ("done", "expected", "errors")}


def _row(part: PartProgress) -> tuple[str, ...]:
    state: str = part.state
    if state == "writing" and part.quiet_s is not None:
        state = f"last answer {clock(part.quiet_s)} ago"
        if part.quiet_s > _SILENT_S:
            state += ": killed? the same command goes on"
    left = "" if part.state == "ended" else clock(part.left_s)
    done = _share_done(part.done, part.expected)
    return one_line(part.name), done, str(part.errors), _speed(part.per_minute), left, state


def _share_done(done: int, expected: int) -> str:
    share = f" ({100 * done // expected} %)" if expected else ""
    return f"{done:,} of {expected:,}{share}"


def _speed(per_minute: float | None) -> str:
    return f"{per_minute:,.1f}" if per_minute else ""


def clock(seconds: float | None) -> str:
    """Format a duration as `1:05:09` or `5:09`; an unknown one as an empty text."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


State = Literal["ended", "interrupted", "writing", "not begun"]


@dataclass(frozen=True, slots=True)
class PartProgress:
    """The progress of one part of a run."""

    name: str
    state: State  # `writing`: it has not ended; whether its process lives, `quiet_s` alone can tell
    done: int  # trials with a record, or with an answer that is not scored yet
    expected: int
    errors: int  # of the trials done, those that resuming asks again
    per_minute: float | None = None  # trials of this session; `None` before the first
    left_s: float | None = None  # seconds, estimated from this session
    quiet_s: float | None = None  # seconds since a file changed; `None` for a shard without a folder


def progress_of_run(run: Path, now: float) -> list[PartProgress]:
    """Every part of a run, shards without a folder too. `now`: seconds since 1970. Raises `InputError`."""
    parts = list(parts_of(run))
    absent = [PartProgress(shard.part, "not begun", 0, shard.count, 0) for shard in absent_shards(parts)]
    return [*(_progress(part, now) for part in parts), *absent]


def time_left(parts: Sequence[PartProgress]) -> float | None:
    """Seconds until the slowest part ends, at the speed of this session; `None` if one is unknown."""
    left = [part.left_s for part in parts if part.state != "ended"]
    return None if None in left else max((seconds for seconds in left if seconds is not None), default=0.0)


def _progress(part: RunPart, now: float) -> PartProgress:
    records = latest_of_each(part.records)
    planned = part.manifest.get("planned")
    tests = {record.nodeid: record.length for record in records}
    expected = len(tests) + max(0, planned - len(tests)) if isinstance(planned, int) else len(tests)
    remaining: int | None = None
    if part.planned is not None:
        planned_tests = set(part.planned.tests)
        tests = {nodeid: length for nodeid, length in tests.items() if nodeid in planned_tests}
        expected = len(planned_tests)
        remaining = sum(cell.length for nodeid in planned_tests - tests.keys() if (cell := parse_id(nodeid)))
    keys = {record.key for record in records}
    ended = part.manifest.get("ended") is not None
    waiting = 0 if ended else sum(answer.key not in keys for answer in read_waiting(part.folder))
    done = min(expected, len(tests) + waiting)
    errors = sum(record.outcome in ("error", "invalid") for record in records if record.nodeid in tests)
    state: State = "writing" if not ended else "ended" if done >= expected else "interrupted"
    last = _last_change(part.folder)
    # A resumed run keeps the date at which it began; its speed is that of the session that writes.
    started = part.manifest.get("session_started", part.manifest.get("started"))
    seconds = _seconds_between(started, last) if state == "writing" else None
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


def _last_change(folder: Path) -> float | None:
    """When a file that grows with each answer changed last, in seconds since 1970."""
    times = []
    for path in (folder / JOURNAL, folder / MANIFEST, *folder.glob(WAITING_FILES)):
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times, default=None)


def _seconds_between(started: object, until: float | None) -> float | None:
    with suppress(ValueError):
        if isinstance(started, str) and until is not None:
            return max(0.0, until - datetime.fromisoformat(started).timestamp()) or None
    return None
