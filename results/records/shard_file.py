"""`shard.json` in a shard's folder: which cells are its own, and how many the other shards of the run have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from needlework.haystack_fixtures.workers.shard import Division, Shard
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.records.run_file import read_run_json

SHARDS, SHARD_FILE = "shards", "shard.json"


@dataclass(frozen=True, slots=True)
class Planned:
    """What a shard is to run: the node ids of its cells' tests. `division`: see there."""

    division: Division
    tests: tuple[str, ...]


def write_shard_file(folder: Path, division: Division, tests: Sequence[str]) -> None:
    """Write it, whole or not at all; every worker of a shard writes the same."""
    content = {
        "schema": 1,
        "shard": division.shard.number,
        "of": division.shard.of,
        "counts": division.counts,
        "selection": division.selection,
        "tests": tests,
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / SHARD_FILE, f"{json.dumps(content, indent=0)}\n".encode())


def read_shard_file(folder: Path) -> Planned | None:
    """What was written there; `None` where there is none, or where it is damaged."""
    try:
        told = read_run_json(folder / SHARD_FILE)
        number, of, counts = told["shard"], told["of"], tuple(told["counts"])
        shard = Shard(number, of)
        whole = all(type(each) is int for each in (number, of, *counts)) and 1 <= number <= of == len(counts)
        tests = tuple(told["tests"])
        if not whole or counts[number - 1] != len(tests) or not all(isinstance(test, str) for test in tests):
            return None
        return Planned(Division(shard, counts, str(told["selection"])), tests)
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
