"""A user's copy of a published data set."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.data_set_files import (
    OPTION,
    DataOptions,
    DataSetFile,
    DataSetLayout,
    Row,
    RowSummary,
    Span,
    long_text,
    read_row,
    row_spans,
    short_rows,
)

# Rows may have texts of several million characters, so only their short columns stay in memory.
_HUB = "hf:"
_KINDS = (".parquet", ".jsonl", ".json", ".csv")
_DATE = re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)|(?P<m2>\d{1,2})[-/](?P<d2>\d{1,2})[-/](?P<y2>\d{4})")


@dataclass(frozen=True, eq=False)
class DataSet:
    """A data set as it was read; compared by identity.

    `sha256`: of its file; of several files of their names and hashes.
    """

    layout: DataSetLayout
    files: tuple[DataSetFile, ...]
    entries: tuple[RowSummary, ...]
    sha256: str
    places: tuple[tuple[Path, Span | int], ...]

    def text(self, number: int) -> str:
        """The long text of a row. Raises `InputError`."""
        path, place = self.places[number]
        column = self.layout.text
        found = long_text(path, column, place) if isinstance(place, int) else _read(path, place, number)[column]
        if not isinstance(found, str):
            raise InputError(OPTION, f"{path}, row {number + 1}", f"its {column} is no text")
        return found

    @property
    def newest(self) -> str:
        """The latest `date_added` of its rows, as YYYY-MM-DD; empty where they tell none."""
        return max((iso_date(entry.row.get("date_added")) for entry in self.entries), default="")

    @property
    def outdated(self) -> str:
        """Why its rows are not those of today, in words; empty where they are, or nothing is known."""
        wanted = self.layout.corrected
        if not wanted or self.newest >= wanted:
            return ""
        told = f"its newest row is of {self.newest}" if self.newest else "its rows have no date_added"
        return f"this copy is from before the correction of {wanted} ({told}): scores do not compare with later ones"

    @property
    def facts(self) -> dict[str, Any]:
        """What a manifest tells of it."""
        return {
            "sha256": self.sha256,
            "rows": len(self.entries),
            "files": [{"name": file.name, "sha256": file.sha256, "rows": file.rows} for file in self.files],
            "newest": self.newest or None,
            **({"corrected": self.layout.corrected} if self.layout.corrected else {}),
            **({"outdated": self.outdated} if self.outdated else {}),
        }


def open_data(given: str, layout: DataSetLayout) -> DataSet:
    """Read what `--data` names; it stays in memory while its files do not change. Raises `InputError`."""
    root = _fetched(given) if given.startswith(_HUB) else Path(given)
    paths = _files(root, given)
    stamps = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    return _open(given, root, stamps, layout)


def iso_date(told: object) -> str:
    """`2026-02-27` of that, and of `02-27-2026`; empty for anything else."""
    found = _DATE.search(told) if isinstance(told, str) else None
    if not found:
        return ""
    year, month, day = (found[name] or found[f"{name}2"] for name in "ymd")
    return f"{year}-{int(month):02}-{int(day):02}"


@lru_cache(2)
def _open(given: str, root: Path, stamps: tuple[tuple[Path, int, int], ...], layout: DataSetLayout) -> DataSet:
    entries: list[RowSummary] = []
    places: list[tuple[Path, Span | int]] = []
    files, refused = [], []
    for path, _, _ in stamps:
        try:
            rows = list(_rows(path, layout))
        except InputError as error:
            if root.is_file() or len(stamps) == 1:
                raise
            refused.append(str(error))  # a folder may hold other files beside the data
            continue
        for row, chars, place in rows:
            entries.append(RowSummary(len(entries), chars, row))
            places.append((path, place))
        with path.open("rb") as file:
            name = path.name if root.is_file() else path.relative_to(root).as_posix()
            files.append(DataSetFile(name, file_digest(file, "sha256").hexdigest(), len(rows)))
    if not entries:
        why = refused[0] if refused else f"has no rows of {layout.name}"
        raise InputError(OPTION, given, why)
    whole = "\n".join(f"{file.name} {file.sha256}" for file in files)
    digest = files[0].sha256 if len(files) == 1 else sha256(whole.encode()).hexdigest()
    return DataSet(layout, tuple(files), tuple(entries), digest, tuple(places))


def _rows(path: Path, layout: DataSetLayout) -> Iterator[tuple[Row, int, Span | int]]:
    """Rows without their long text, its characters, and where each row stands."""
    if path.suffix == ".parquet":
        yield from ((row, chars, number) for number, (row, chars) in enumerate(short_rows(path, layout)))
        return
    for number, span in enumerate(row_spans(path)):
        row = _read(path, span, number)
        missing = [name for name in layout.columns if name not in row]
        if missing:
            told = f"has no {', '.join(missing)}: it is no row of {layout.name}"
            raise InputError(OPTION, f"{path}, row {number + 1}", told)
        if not isinstance(row[layout.text], str):
            raise InputError(OPTION, f"{path}, row {number + 1}", f"its {layout.text} is no text")
        short = {name: value for name, value in row.items() if name != layout.text}
        yield short, len(row[layout.text]), span


def _read(path: Path, span: Span, number: int) -> Mapping[str, Any]:
    try:
        row = read_row(path, span)
    except (ValueError, RecursionError, StopIteration) as error:
        raise InputError(OPTION, f"{path}, row {number + 1}", f"cannot be read ({error})") from None
    if not isinstance(row, dict):
        raise InputError(OPTION, f"{path}, row {number + 1}", "is no object with columns")
    return row


@lru_cache(8)
def _files(root: Path, given: str) -> list[Path]:
    if root.is_file():
        if root.suffix not in _KINDS:
            raise InputError(OPTION, given, f"give a file {', '.join(_KINDS)}, or a folder of them")
        return [root]
    if not root.is_dir():
        raise InputError(OPTION, given, "is no file and no folder: give your copy of the data, or hf:NAME")
    found = sorted(path for path in root.rglob("*") if path.suffix in _KINDS and path.is_file())
    if not found:
        raise InputError(OPTION, given, f"has no file {', '.join(_KINDS)}")
    return found


@lru_cache(2)
def _fetched(given: str) -> Path:
    """The folder of a data set of the hub, fetched into the hub's cache; no code that it carries is run."""
    from huggingface_hub import snapshot_download

    name, _, revision = given.removeprefix(_HUB).partition("@")
    try:
        found = snapshot_download(
            name, repo_type="dataset", revision=revision or None, allow_patterns=[f"*{kind}" for kind in _KINDS]
        )
    except Exception as error:  # the hub's client and its transport raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError(OPTION, given, f"the hub gave nothing ({why}); give a file or a folder") from error
    return Path(found)


def chosen(data: DataSet, own: DataOptions, group: Callable[[RowSummary], object]) -> tuple[RowSummary, ...]:
    """The rows that `--data-where` and `--data-limit` leave, in the order of the file. Raises `InputError`.

    `group`: rows of one group share a limit. Those that stay are the first by a hash of the row, so that a smaller
    limit asks a part of what a larger one does.
    """
    found = [entry for entry in data.entries if all(_meets(data, entry, each) for each in own.data_where)]
    if not found:
        raise InputError("--data-where", ",".join(own.data_where), f"none of {len(data.entries)} rows is like that")
    if not own.data_limit:
        return tuple(found)
    groups: dict[object, list[RowSummary]] = {}
    for entry in sorted(found, key=_hash):
        groups.setdefault(group(entry), []).append(entry)
    kept = {entry.number for entries in groups.values() for entry in entries[: own.data_limit]}
    return tuple(entry for entry in found if entry.number in kept)


def nominal_length(tokens: float, lengths: Sequence[int]) -> tuple[int, ...]:
    """The least of the suite's lengths that holds so many tokens; none where all are shorter."""
    holding = [length for length in lengths if length >= tokens]
    return (min(holding),) if holding else ()


def _meets(data: DataSet, entry: RowSummary, condition: str) -> bool:
    column, _, values = condition.partition("=")
    column = column.strip()
    if column not in entry.row:
        names = ", ".join(sorted(entry.row))
        raise InputError("--data-where", condition, f"{data.layout.name} has no such column; it has {names}")
    return str(entry.row[column]) in [value.strip() for value in values.split("|")]


def _hash(entry: RowSummary) -> str:
    row = json.dumps(dict(entry.row), sort_keys=True, default=str)
    return sha256(row.encode("utf-8", "surrogatepass")).hexdigest()
