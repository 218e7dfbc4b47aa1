"""The index of a run: what it holds, and when it no longer holds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from needlework.results.files.index_file import INDEX, read_index, sources_of, write_index
from needlework.results.files.json_file import write_json
from needlework.results.records.record import Record
from needlework.results.statistics.asked import asked_of
from needlework.results.statistics.run_report import run_report

Make = Callable[..., Record]


@pytest.fixture
def folder(make_record: Make, tmp_path: Path) -> Path:
    """A run with its index: found, wrong and skipped trials."""
    outcomes = ("found", "wrong", "skipped")
    records = [make_record(repeat=repeat, outcome=outcomes[repeat % 3], depth=None) for repeat in range(12)]
    write_json(tmp_path / "results.json", run_report(records))
    write_index(tmp_path, asked_of(records), 20, sources_of(tmp_path))
    return tmp_path


def test_it_holds_what_was_written(folder: Path) -> None:
    found = read_index(folder)

    assert found is not None
    (entry,) = found.entries
    assert (found.planned, found.recorded) == (20, 12)
    assert (entry.task, entry.mean, entry.outcomes) == ("niah", 0.5, {"found": 4, "wrong": 4, "skipped": 4})
    assert entry.by_length[0][:4] == (1000, 12, 8, 0.5)
    np.testing.assert_array_equal(entry.scores, [1, 0, np.nan] * 4)
    assert entry.samples.tolist() == [*range(12)]


def test_a_file_of_another_size_or_time_makes_it_stale(folder: Path) -> None:
    results = folder / "results.json"
    stat = results.stat()
    os.utime(results, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert read_index(folder) is None

    os.utime(results, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert read_index(folder) is not None
    (folder / "journal.jsonl").write_text("{}\n")
    assert read_index(folder) is None


@pytest.mark.parametrize("spoil", [b"", b"{", b"[]", b'{"version": 1}', b"\xff\xfe"], ids=repr)
def test_what_is_no_index_is_none(folder: Path, spoil: bytes) -> None:
    (folder / INDEX).write_bytes(spoil)

    assert read_index(folder) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("scores", "AAAA"), ("scores", "?"), ("samples", "eJwDAAAAAAE="), ("by_length", [[1]]), ("latency", 3)],
)
def test_a_spoilt_entry_is_none(folder: Path, name: str, value: object) -> None:
    content = json.loads((folder / INDEX).read_text())
    content["entries"][0][name] = value
    (folder / INDEX).write_text(json.dumps(content))

    assert read_index(folder) is None
