"""A run's progress as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.results.status.progress import Progress, left_of_all
from needlework.results.style.text import one_line

_HEAD = ("part", "done", "errors", "a minute", "left", "state")
# Longer than most answers take. A process that is silent for so long may be at work on a very long prompt, or dead.
_LONG_S = 300


def status_lines(found: Sequence[Progress]) -> Iterator[str]:
    """A line for each part, and one for all of them together."""
    rows = [_HEAD, *map(_row, found)]
    if len(found) > 1:
        done, expected, errors = (sum(getattr(each, name) for each in found) for name in ("done", "expected", "errors"))
        speeds = [each.per_minute for each in found if each.per_minute is not None]
        rows.append(("all", _done(done, expected), str(errors), _speed(sum(speeds)), clock(left_of_all(found)), ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(each: Progress) -> tuple[str, ...]:
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
