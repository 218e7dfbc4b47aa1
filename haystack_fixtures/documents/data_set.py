"""A user's copy of a published data set, read row by row, and which of its rows are asked."""

import csv
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.options import HUB

OPTION = "--data"
KINDS = (".parquet", ".jsonl", ".json", ".csv")
Row = Mapping[str, Any]
_DATE = re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)|(?P<m2>\d{1,2})[-/](?P<d2>\d{1,2})[-/](?P<y2>\d{4})")
_SHOWN = 6  # values of a column that none of the conditions meets


@dataclass(frozen=True, slots=True)
class DataSetLayout:
    """A data set as its makers publish it."""

    name: str
    columns: tuple[str, ...]  # those that every row has
    text: str  # the long one of them, which is read when it is needed
    count: str = ""  # a column with the characters of the long one, where there is one
    hub: str = ""  # where the makers keep it
    corrected: str = ""  # the date (YYYY-MM-DD) from which on its rows are right; rows tell theirs in `date_added`


@dataclass(frozen=True, slots=True, eq=False)
class RowSummary:
    """A row without its long text, which may have millions of characters."""

    number: int  # its place among all rows of the data set, from 0
    chars: int  # characters of the long text
    row: Row = field(repr=False)
    load: Callable[[], object] = field(default=str, repr=False)  # reads the long text


@dataclass(frozen=True, eq=False)
class DataSet:
    """A data set as it was read; compared by identity."""

    layout: DataSetLayout
    files: tuple[Mapping[str, Any], ...]  # `name` below the path of `--data`, `sha256`, number of `rows`
    entries: tuple[RowSummary, ...]
    sha256: str  # of its file; of several files of their names and hashes

    def text(self, number: int) -> str:
        """The long text of a row. Raises `InputError`."""
        loaded = self.entries[number].load()
        if not isinstance(loaded, str):
            raise InputError(OPTION, f"row {number + 1}", f"its {self.layout.text} is no text")
        return loaded

    @property
    def newest(self) -> str:
        """The latest `date_added` of its rows, as YYYY-MM-DD; empty where they have none."""
        return max((iso_date(entry.row.get("date_added")) for entry in self.entries), default="")

    @property
    def outdated(self) -> str:
        """The way in which its rows differ from today's, in words; empty if they do not, or if unknown."""
        corrected = self.layout.corrected
        if not corrected or self.newest >= corrected:
            return ""
        why = f"its newest row is of {self.newest}" if self.newest else "its rows have no date_added"
        return f"this copy is from before the correction of {corrected} ({why}): scores do not compare with later ones"

    @property
    def facts(self) -> dict[str, Any]:
        """The data set's entry in the manifest."""
        return {
            "sha256": self.sha256,
            "rows": len(self.entries),
            "files": list(self.files),
            "newest": self.newest or None,
            **({"corrected": self.layout.corrected} if self.layout.corrected else {}),
            **({"outdated": self.outdated} if self.outdated else {}),
        }


def iso_date(value: object) -> str:
    """`2026-02-27` of that, and of `02-27-2026`; empty for anything else."""
    date = _DATE.search(value) if isinstance(value, str) else None
    if not date:
        return ""
    year, month, day = (date[name] or date[f"{name}2"] for name in "ymd")
    return f"{year}-{int(month):02}-{int(day):02}"


def open_data(name: str, layout: DataSetLayout) -> DataSet:
    """Read what `--data` names; it stays in memory while its files do not change. Raises `InputError`."""
    root = hub_folder(OPTION, name, KINDS) if name.startswith(HUB) else Path(name)
    paths = _files(root, name)
    stamps = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    return _open(name, root, stamps, layout)


@lru_cache(4)
def hub_folder(option: str, location: str, endings: tuple[str, ...]) -> Path:
    """The folder of a data set of the hub (`hf:NAME`, `hf:NAME@REVISION`), fetched into the hub's cache.

    Only files with these endings are fetched: code that a data set carries is never run. Raises `InputError`.
    """
    from huggingface_hub import snapshot_download

    name, _, revision = location.removeprefix(HUB).partition("@")
    patterns = [f"*{ending}" for ending in endings]
    try:
        folder = snapshot_download(name, repo_type="dataset", revision=revision or None, allow_patterns=patterns)
    except Exception as error:  # the hub's client and its transport raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError(option, location, f"the hub gave nothing ({why}); give a file or a folder") from error
    return Path(folder)


@lru_cache(8)
def _files(root: Path, name: str) -> list[Path]:
    if root.is_file():
        if root.suffix not in KINDS:
            raise InputError(OPTION, name, f"give a file {', '.join(KINDS)}, or a folder of them")
        return [root]
    if not root.is_dir():
        raise InputError(OPTION, name, "is no file and no folder: give your copy of the data, or hf:NAME")
    files = sorted(path for path in root.rglob("*") if path.suffix in KINDS and path.is_file())
    if not files:
        raise InputError(OPTION, name, f"has no file {', '.join(KINDS)}")
    return files


@lru_cache(2)
def _open(data_name: str, root: Path, stamps: tuple[tuple[Path, int, int], ...], layout: DataSetLayout) -> DataSet:
    entries: list[RowSummary] = []
    files: list[dict[str, Any]] = []
    refused = []
    for file, _, _ in stamps:
        read = _parquet_rows if file.suffix == ".parquet" else _text_rows
        try:
            rows = list(read(file, layout))
        except InputError as error:
            if len(stamps) == 1:
                raise
            refused.append(str(error))  # a folder may hold other files beside the data
            continue
        entries += [RowSummary(number, *row) for number, row in enumerate(rows, len(entries))]
        with file.open("rb") as content:
            name = file.name if root.is_file() else file.relative_to(root).as_posix()
            files.append({"name": name, "sha256": file_digest(content, "sha256").hexdigest(), "rows": len(rows)})
    if not entries:
        raise InputError(OPTION, data_name, refused[0] if refused else f"has no rows of {layout.name}")
    whole = "\n".join(f"{each['name']} {each['sha256']}" for each in files)
    digest = files[0]["sha256"] if len(files) == 1 else sha256(whole.encode()).hexdigest()
    return DataSet(layout, tuple(files), tuple(entries), digest)


def _text_rows(file: Path, layout: DataSetLayout) -> Iterator[tuple[int, Row, Callable[[], object]]]:
    """Rows of JSON, JSON lines or CSV without their long texts: number of characters, row, reader."""
    rows = _parsed_rows(file)
    for number in range(1, sys.maxsize):
        try:
            row = next(rows, None)
            if row is None:
                return
            if not isinstance(row, dict):
                raise ValueError("it is no object with columns")
            if missing := [name for name in layout.columns if name not in row]:
                raise ValueError(f"it has no {', '.join(missing)}")
            if not isinstance(long := row.pop(layout.text), str):
                raise ValueError(f"its {layout.text} is no text")
        except (ValueError, RecursionError, csv.Error) as error:
            raise InputError(OPTION, f"{file}, row {number}", f"cannot be read ({error})") from None
        yield len(long), row, partial(_unpacked, zlib.compress(long.encode("utf-8", "surrogatepass"), 1))


def _parsed_rows(file: Path) -> Iterator[object]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        if file.suffix == ".csv":
            csv.field_size_limit(sys.maxsize)  # a text of millions of characters stands in one field
            yield from csv.DictReader(lines)
        elif lines.read(1000).lstrip().startswith("["):
            lines.seek(0)
            yield from json.load(lines)
        else:
            lines.seek(0)
            yield from (json.loads(line) for line in lines if line.strip())


def _unpacked(packed: bytes) -> str:
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")


def _parquet_rows(file: Path, layout: DataSetLayout) -> Iterator[tuple[int, Row, Callable[[], object]]]:
    """Rows of a parquet file as `_text_rows` gives them; their long texts stay on the disk."""
    parquet, text = _opened_parquet(file), layout.text
    names = parquet.schema_arrow.names
    missing = [name for name in layout.columns if name not in names]
    if missing:
        raise InputError(OPTION, file, f"has no column {', '.join(missing)}; it has {', '.join(names)}")
    for group in range(parquet.metadata.num_row_groups):
        rows = parquet.read_row_group(group, columns=[name for name in names if name != text]).to_pylist()
        if layout.count in names:
            counts = [int(row[layout.count] or 0) for row in rows]
        else:
            counts = [len(each.as_py() or "") for each in _row_group(file, text, group)]
        for at, (row, count) in enumerate(zip(rows, counts, strict=True)):
            yield count, row, partial(_parquet_text, file, text, group, at)


def _parquet_text(path: Path, column: str, group: int, at: int) -> object:
    return _row_group(path, column, group)[at].as_py()


@lru_cache(2)
def _row_group(path: Path, column: str, group: int) -> Any:
    return _opened_parquet(path).read_row_group(group, columns=[column]).column(0)


def _opened_parquet(path: Path) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        remedy = "parquet needs pyarrow: pip install 'needlework[data]'; or write the rows as JSON lines"
        raise InputError(OPTION, path, remedy) from None
    try:
        return ParquetFile(path)
    except (OSError, ValueError) as error:
        raise InputError(OPTION, path, f"is no parquet file ({error})") from None


def chosen(
    data: DataSet, where: Sequence[str], limit: int, group: Callable[[RowSummary], object]
) -> tuple[RowSummary, ...]:
    """The rows that `--data-where` and `--data-limit` select, in file order. Raises `InputError`.

    `group`: rows of one group share a limit. Those that stay are the first by a hash of the row, so that a smaller
    limit asks a part of what a larger one does.
    """
    rows = data.entries
    for condition in where:
        rows = _meeting(data, rows, condition)
    if not limit:
        return rows
    groups: dict[object, list[RowSummary]] = {}
    for entry in sorted(rows, key=_hash):
        groups.setdefault(group(entry), []).append(entry)
    numbers = {entry.number for entries in groups.values() for entry in entries[:limit]}
    return tuple(entry for entry in rows if entry.number in numbers)


def _meeting(data: DataSet, rows: Sequence[RowSummary], condition: str) -> tuple[RowSummary, ...]:
    """The rows that meet `COLUMN=VALUE|VALUE`, capitals aside."""
    column, _, values = (part.strip() for part in condition.partition("="))
    lacking = next((entry for entry in rows if column not in entry.row), None)
    if lacking:
        names = ", ".join(sorted(lacking.row))
        raise InputError("--data-where", condition, f"{data.layout.name} has no such column; it has {names}")
    accepted = {value.strip().casefold() for value in values.split("|")}
    meeting = tuple(entry for entry in rows if str(entry.row[column]).casefold() in accepted)
    if not meeting:
        known = sorted({str(entry.row[column])[:40] for entry in rows})
        more = ", ..." if len(known) > _SHOWN else ""
        remedy = f"none of {len(rows)} rows is like that: {column} is {', '.join(known[:_SHOWN])}{more}"
        raise InputError("--data-where", condition, remedy)
    return meeting


def _hash(entry: RowSummary) -> str:
    row = json.dumps(dict(entry.row), sort_keys=True, default=str)
    return sha256(row.encode("utf-8", "surrogatepass")).hexdigest()
