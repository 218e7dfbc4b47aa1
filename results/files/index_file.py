"""`index.json` of a run: what boards of many runs read in place of its records. It holds nothing that they do not.

The journal and results.json stay the truth: an index names their sizes and times of change, and is made again when
they have others, or when it is missing, spoilt or of another version. It is written whole or not at all, so that any
number of processes may read and write it at once.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.records.run_folder import JOURNAL
from needlework.results.statistics.asked import Asked
from needlework.results.statistics.board.entry import Entry, entries_of

INDEX, RESULTS = "index.json", "results.json"
_VERSION = 3
_SOURCES = (RESULTS, JOURNAL)
_ARRAYS = {
    "scores": np.float32,
    "samples": np.int32,
    "lengths": np.int32,
    "undecided": np.uint8,
    "scored_by": np.int32,
}
Sources = dict[str, list[int]]
_NAMES = tuple(each.name for each in fields(Entry))


@dataclass(frozen=True, slots=True)
class Indexed:
    """What the index of a run holds. `planned`: how many trials it was to have; `recorded`: how many it has."""

    entries: tuple[Entry, ...]
    planned: int
    recorded: int


def write_index(folder: Path, asked: Sequence[Asked], planned: int, sources: Sources) -> Indexed:
    """Write a run's index, and return it. `sources`: of the files, before the records that were `asked` were read. A
    folder that cannot be written to has none: whoever reads it computes it.
    """
    found = Indexed(entries_of(asked), planned, len(asked))
    content = {
        "version": _VERSION,
        "sources": sources,
        "planned": planned,
        "recorded": found.recorded,
        "entries": [{name: _packed(getattr(each, name)) for name in _NAMES} for each in found.entries],
    }
    with suppress(OSError):
        write_whole(folder / INDEX, json.dumps(content, separators=(",", ":")).encode(), durable=False)
    return found


def read_index(folder: Path) -> Indexed | None:
    """Return a run's index; `None` where there is none that holds for its files."""
    try:
        content = json.loads((folder / INDEX).read_bytes())
        if content["version"] != _VERSION or content["sources"] != sources_of(folder):
            return None
        entries = tuple(_entry(each) for each in content["entries"])
        return Indexed(entries, int(content["planned"]), int(content["recorded"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, zlib.error):  # missing, or not what we wrote
        return None


def sources_of(folder: Path) -> Sources:
    """Bytes and time of change (ns) of the files that hold the records."""
    found = {}
    for name in _SOURCES:
        with suppress(FileNotFoundError):
            stat = (folder / name).stat()
            found[name] = [stat.st_size, stat.st_mtime_ns]
    return found


def _packed(value: Any) -> Any:
    return b64encode(zlib.compress(value.tobytes(), 6)).decode() if isinstance(value, np.ndarray) else value


def _entry(packed: dict[str, Any]) -> Entry:
    arrays: dict[str, Any] = {
        name: np.frombuffer(zlib.decompress(b64decode(packed[name], validate=True)), kind)
        for name, kind in _ARRAYS.items()
    }
    plain: dict[str, Any] = {name: packed[name] for name in _NAMES if name not in _ARRAYS}
    plain["by_length"] = tuple(tuple(_six(each)) for each in packed["by_length"])
    plain["scorers"] = tuple(packed["scorers"])
    for name in ("effective", "latency"):
        plain[name] = None if packed[name] is None else tuple(packed[name])
    if len({len(each) for each in arrays.values()} | {plain["trials"]}) > 1:
        raise ValueError("arrays of different lengths")
    return Entry(**plain, **arrays)


def _six(values: Sequence[Any]) -> Sequence[Any]:
    if len(values) != 6:
        raise ValueError("no length")
    return values
