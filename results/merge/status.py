"""`needlework status`: the progress of a run and its shards, read from their files."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

from needlework.core.errors import OneLineParser, run_command
from needlework.core.grid import parse_id
from needlework.results.merge.parts import RunPart, absent_shards, parts_of
from needlework.results.records.journal import WAITING_FILES, read_waiting
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.records.samples import latest_of_each
from needlework.results.style import clock, one_line


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

    def show() -> int:
        parts = progress_of_run(options.run, time.time())
        if options.json:
            content = {"run": str(options.run), **totals(parts), "left_s": time_left(parts)}
            print(json.dumps(content | {"parts": list(map(asdict, parts))}))
        else:
            print(*status_lines(parts), sep="\n")
        return 0

    return run_command("status", show)


State = Literal["ended", "interrupted", "writing", "not begun"]
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


def status_lines(parts: Sequence[PartProgress]) -> Iterator[str]:
    """A line for each part, and one for all of them together."""
    rows = [("part", "done", "errors", "a minute", "left", "state")]
    for part in parts:
        state: str = part.state
        if state == "writing" and part.quiet_s is not None:
            silent = ": killed? the same command goes on" if part.quiet_s > _SILENT_S else ""
            state = f"last answer {clock(part.quiet_s)} ago{silent}"
        left = None if part.state == "ended" else part.left_s
        rows.append(_row(one_line(part.name), part.done, part.expected, part.errors, part.per_minute, left, state))
    if len(parts) > 1:
        speed = sum(part.per_minute for part in parts if part.per_minute is not None)
        rows.append(_row("all", **totals(parts), speed=speed, left=time_left(parts), state=""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def totals(parts: Sequence[PartProgress]) -> dict[str, int]:
    """The trials of all parts: `done`, `expected`, `errors`."""
    return {name: sum(getattr(part, name) for part in parts) for name in ("done", "expected", "errors")}


def _row(
    name: str, done: int, expected: int, errors: int, speed: float | None, left: float | None, state: str
) -> tuple[str, str, str, str, str, str]:
    share = f" ({100 * done // expected} %)" if expected else ""
    rate = f"{speed:,.1f}" if speed else ""
    return name, f"{done:,} of {expected:,}{share}", str(errors), rate, clock(left), state


def progress_of_run(run: Path, now: float) -> list[PartProgress]:
    """The progress of every part of a run, shards without a folder too. `now`: seconds since 1970."""
    parts = parts_of(run)
    absent = [PartProgress(shard.part, "not begun", 0, shard.count, 0) for shard in absent_shards(parts)]
    return [*(_progress(part, now) for part in parts), *absent]


def time_left(parts: Sequence[PartProgress]) -> float | None:
    """Seconds until the slowest part ends, at the speed of this session; `None` if one is unknown."""
    left = [part.left_s for part in parts if part.state != "ended"]
    return None if None in left else max((seconds for seconds in left if seconds is not None), default=0.0)


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
    if ended:
        whole = done >= expected
        state: State = "ended" if whole else "interrupted"
        return PartProgress(part.name, state, done, expected, errors, left_s=0.0 if whole else None, quiet_s=quiet)
    # A resumed run keeps the date at which it began; its speed is that of the session that writes.
    seconds = _seconds_between(manifest.get("session_started", manifest.get("started")), last)
    earlier = manifest.get("recorded")  # of a run that has not ended: of earlier sessions
    since = done - (earlier if isinstance(earlier, int) else 0)
    if not seconds or since <= 0:
        return PartProgress(part.name, "writing", done, expected, errors, quiet_s=quiet)
    left = (expected - done) * seconds / since
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


def _seconds_between(started: object, until: float | None) -> float | None:
    with suppress(ValueError):
        if isinstance(started, str) and until is not None:
            return max(0.0, until - datetime.fromisoformat(started).timestamp()) or None
    return None
