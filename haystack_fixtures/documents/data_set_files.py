"""Rows in files of data sets: parquet, JSON, JSON lines, CSV. Long texts are read one at a time."""

from __future__ import annotations

import csv
import json
import mmap
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError

OPTION = "--data"
KINDS = (".parquet", ".jsonl", ".json", ".csv")
Row = Mapping[str, Any]
Place = tuple[int, int] | int  # a row's first byte and end; in a parquet file its number
_BATCH = 8  # rows of long texts whose characters are counted at once
# Strings are passed over as one, so that a bracket in a text opens nothing.
_JSON = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_CSV = re.compile(rb'"(?:[^"]|"")*"|\r?\n')


def read_short_rows(path: Path, columns: tuple[str, ...], text: str, count: str) -> Iterator[tuple[Row, int, Place]]:
    """Each row without its long text, the characters of that, and the row's place in the file. Raises `InputError`.

    `columns`: those that a row has to have. `text`: the long one. `count`: a column with its characters.
    """
    if path.suffix == ".parquet":
        yield from _parquet_rows(path, columns, text, count)
        return
    for number, place in enumerate(_row_places(path)):
        row = _read_row(path, place, number)
        missing = [name for name in columns if name not in row]
        if missing:
            raise InputError(OPTION, f"{path}, row {number + 1}", f"has no {', '.join(missing)}")
        long_text = _checked_text(path, row[text], text, number)
        yield {name: value for name, value in row.items() if name != text}, len(long_text), place


def read_long_text(path: Path, column: str, place: Place, number: int) -> str:
    """The long text of a row; `number`: from 0, for messages. Raises `InputError`."""
    value = _parquet_text(path, column, place) if isinstance(place, int) else _read_row(path, place, number)[column]
    return _checked_text(path, value, column, number)


def _checked_text(path: Path, value: object, column: str, number: int) -> str:
    if not isinstance(value, str):
        raise InputError(OPTION, f"{path}, row {number + 1}", f"its {column} is no text")
    return value


def _row_places(path: Path) -> list[tuple[int, int]]:
    """The bytes of each row, in the order of the file; the head of a CSV file is none of them."""
    if path.stat().st_size == 0:
        return []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if path.suffix == ".csv":
            return list(_csv_places(data))[1:]
        is_list = data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
        return list(_list_places(data) if is_list else _line_places(data))


def _line_places(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        if data[start : min(end, start + 100)].strip():
            yield start, end
        start = end + 1


def _list_places(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    """The objects of the outermost list."""
    deep, start = 0, 0
    for mark in _JSON.finditer(data):
        if mark[0] in (b"{", b"["):
            deep += 1
            if deep == 2:
                start = mark.start()
        elif mark[0] in (b"}", b"]"):
            deep -= 1
            if deep == 1:
                yield start, mark.end()


def _csv_places(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    """The lines, line ends in quotes left out."""
    start = 0
    for mark in _CSV.finditer(data):
        if mark[0][:1] != b'"':
            if data[start : min(mark.start(), start + 100)].strip():
                yield start, mark.start()
            start = mark.end()
    if data[start : start + 100].strip():
        yield start, len(data)


def _read_row(path: Path, place: tuple[int, int], number: int) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            head = file.readline() if path.suffix == ".csv" else b""
            file.seek(place[0])
            data = file.read(place[1] - place[0])
        row = _csv_row(head, data) if head else json.loads(data)
    except (ValueError, RecursionError, StopIteration) as error:
        raise InputError(OPTION, f"{path}, row {number + 1}", f"cannot be read ({error})") from None
    if not isinstance(row, dict):
        raise InputError(OPTION, f"{path}, row {number + 1}", "is no object with columns")
    return row


def _csv_row(head: bytes, line: bytes) -> dict[str, str]:
    csv.field_size_limit(sys.maxsize)  # a text of millions of characters stands in one field
    names, values = (next(csv.reader(StringIO(part.decode("utf-8-sig"), newline=""))) for part in (head, line))
    return dict(zip(names, values, strict=True))


def _parquet_rows(path: Path, columns: tuple[str, ...], text: str, count: str) -> Iterator[tuple[Row, int, int]]:
    file = _opened_parquet(path)
    names = file.schema_arrow.names
    missing = [name for name in columns if name not in names]
    if missing:
        raise InputError(OPTION, path, f"has no column {', '.join(missing)}; it has {', '.join(names)}")
    rows = file.read(columns=[name for name in names if name != text]).to_pylist()
    if count in names:
        counts = [int(row[count] or 0) for row in rows]
    else:
        import pyarrow.compute as compute

        batches = file.iter_batches(batch_size=_BATCH, columns=[text])
        counts = [size or 0 for batch in batches for size in compute.utf8_length(batch.column(0)).to_pylist()]
    yield from zip(rows, counts, range(len(rows)), strict=True)


def _parquet_text(path: Path, column: str, number: int) -> object:
    ends = _row_group_ends(path)
    group = next(group for group, end in enumerate(ends) if number < end)
    start = ends[group - 1] if group else 0
    return _row_group(path, column, group)[number - start].as_py()


@lru_cache(8)
def _row_group_ends(path: Path) -> tuple[int, ...]:
    metadata = _opened_parquet(path).metadata
    return tuple(accumulate(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)))


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
