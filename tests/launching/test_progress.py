"""What a launcher prints while it follows shards."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from needlework.cluster import progress
from needlework.cluster.progress import ShardProgress
from needlework.cluster.shards import Plan


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def plan(folder: Path) -> Plan:
    return Plan(folder / "run", 2, (), folder, 0)


def test_a_log_gets_a_line_every_half_minute_where_something_changed(tmp_path, clock):
    out = io.StringIO()
    told = ShardProgress(plan(tmp_path), out)
    for passed, state in enumerate(["a", "a", "b", "b", "b", "c", "c"]):
        clock[0] = 100.0 + 10 * passed
        told.show(state)

    assert out.getvalue() == "no trial yet; a\nno trial yet; b\nno trial yet; c\n"


def test_a_terminal_has_one_line_that_is_written_over(tmp_path, clock):
    out = Terminal()
    told = ShardProgress(plan(tmp_path), out)
    told.show("a")
    told.show("b" * 500)
    told.tell("something happened")
    first, second, third = out.getvalue().removeprefix("\r\x1b[K").split("\r\x1b[K")

    assert first == "no trial yet; a"
    assert len(second) < 500
    assert third == "something happened\n"


def test_where_nothing_was_written_there_is_nothing_to_merge(tmp_path, clock):
    out = io.StringIO()

    assert ShardProgress(plan(tmp_path), out).merged() == 3
    assert out.getvalue() == "no shard has written anything\n"
