"""Files of data sets: layouts, parquet, JSON lines, CSV; and their options."""

from __future__ import annotations

import csv
import json
import mmap
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.options import path, text, tokens

OPTION = "--data"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DataSetLayout:
    """A data set as its makers publish it.

    `columns`: those that every row has. `text`: the long one of them, which is read when it is needed. `count`: a
    column with the characters of the long one, where there is one. `hub`: where the makers keep it. `corrected`: the
    date (YYYY-MM-DD) from which on its rows are right; rows tell theirs in `date_added`.
    """

    name: str
    columns: tuple[str, ...]
    text: str
    count: str = ""
    hub: str = ""
    corrected: str = ""


@dataclass(frozen=True, slots=True)
class DataSetFile:
    """A file as it was read: its name below what was given, its hash, and how many rows it has."""

    name: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class RowSummary:
    """A row without its long text. `number`: its place among all rows of the data set, from 0; `chars`: characters of
    the long text."""

    number: int
    chars: int
    row: Row = field(repr=False)


Span = tuple[int, int]

# Strings are passed over as one, so that a bracket in a text opens nothing.
_JSON = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_CSV = re.compile(rb'"(?:[^"]|"")*"|\r?\n')


def row_spans(path: Path) -> list[Span]:
    """The bytes (start, end) of each row, in the order of the file; the head of a CSV file is none of them."""
    if path.stat().st_size == 0:
        return []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if path.suffix == ".csv":
            return list(_csv_spans(data))[1:]
        return list(_list_spans(data)) if _is_list(data) else list(_line_spans(data))


def read_row(path: Path, span: Span) -> Any:
    """The row at a place. Raises `ValueError` for what is no JSON."""
    with path.open("rb") as file:
        if path.suffix == ".csv":
            head = file.readline()
            file.seek(span[0])
            return _csv_row(head, file.read(span[1] - span[0]))
        file.seek(span[0])
        return json.loads(file.read(span[1] - span[0]))


def _is_list(data: mmap.mmap) -> bool:
    return data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["


def _line_spans(data: mmap.mmap) -> Iterator[Span]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        if data[start : min(end, start + 100)].strip():
            yield start, end
        start = end + 1


def _list_spans(data: mmap.mmap) -> Iterator[Span]:
    """The objects of the outermost list."""
    deep, start = 0, 0
    for found in _JSON.finditer(data):
        mark = found[0][:1]
        if mark in (b"{", b"["):
            deep += 1
            if deep == 2:
                start = found.start()
        elif mark in (b"}", b"]"):
            deep -= 1
            if deep == 1:
                yield start, found.end()


def _csv_spans(data: mmap.mmap) -> Iterator[Span]:
    """The lines, line ends in quotes left out."""
    start = 0
    for found in _CSV.finditer(data):
        if found[0][:1] != b'"':
            if data[start : min(found.start(), start + 100)].strip():
                yield start, found.start()
            start = found.end()
    if data[start : start + 100].strip():
        yield start, len(data)


def _csv_row(head: bytes, line: bytes) -> dict[str, str]:
    csv.field_size_limit(sys.maxsize)  # a text of millions of characters stands in one field
    names, values = (next(csv.reader(StringIO(part.decode("utf-8-sig"), newline=""))) for part in (head, line))
    return dict(zip(names, values, strict=True))


_BATCH = 8  # rows of long texts whose characters are counted at once


def short_rows(path: Path, layout: DataSetLayout) -> list[tuple[Row, int]]:
    """Each row without its long text, and the characters of that. Raises `InputError`."""
    import pyarrow.compute as compute

    file = _opened(path)
    names = file.schema_arrow.names
    missing = [name for name in layout.columns if name not in names]
    if missing:
        raise InputError(OPTION, path, f"has no column {', '.join(missing)}; it has {', '.join(names)}")
    rows = file.read(columns=[name for name in names if name != layout.text]).to_pylist()
    if layout.count in names:
        return [(row, int(row[layout.count] or 0)) for row in rows]
    batches = file.iter_batches(batch_size=_BATCH, columns=[layout.text])
    counts = [count or 0 for batch in batches for count in compute.utf8_length(batch.column(0)).to_pylist()]
    return list(zip(rows, counts, strict=True))


def long_text(path: Path, column: str, number: int) -> object:
    """The long text of the file's row of that number, from 0."""
    groups = _groups(path)
    group = next(group for group, end in enumerate(groups) if number < end)
    start = groups[group - 1] if group else 0
    return _texts(path, column, group)[number - start].as_py()


@lru_cache(8)
def _groups(path: Path) -> tuple[int, ...]:
    """Up to which row each row group goes."""
    told = _opened(path).metadata
    return tuple(accumulate(told.row_group(group).num_rows for group in range(told.num_row_groups)))


@lru_cache(2)
def _texts(path: Path, column: str, group: int) -> Any:
    return _opened(path).read_row_group(group, columns=[column]).column(0)


def _opened(path: Path) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        remedy = "parquet needs pyarrow: pip install 'needlework[data]'; or write the rows as JSON lines"
        raise InputError(OPTION, path, remedy) from None
    try:
        return ParquetFile(path)
    except (OSError, ValueError) as error:
        raise InputError(OPTION, path, f"is no parquet file ({error})") from None


def conditions(option: str, value: str) -> tuple[str, ...]:
    """`n_needles=8,difficulty=hard|easy` as a tuple of conditions."""
    found = tuple(part.strip() for part in text(option, value).split(","))
    for part in found:
        if not re.fullmatch(r"[\w]+\s*=\s*\S.*", part):
            raise InputError(option, part, "write COLUMN=VALUE, or COLUMN=VALUE|VALUE, with commas between them")
    return found


def file_or_hub(option: str, value: str) -> str:
    """A path, or `hf:NAME` as it is."""
    return value if value.startswith("hf:") else str(path(option, value))


class DataOptions(Struct, frozen=True):
    """The options of tasks of published data sets."""

    data: Annotated[str, file_or_hub] | None = None  # file, folder or `hf:NAME` of the user's copy
    data_where: Annotated[tuple[str, ...], conditions] = ()  # `COLUMN=VALUE|VALUE` conditions that a row has to meet
    data_limit: int = 0  # rows of each group, 0 for all
    data_cut: Literal["exact", "compat", "none"] = "exact"  # how LongBench v2's documents are cut
    data_window: Annotated[int, tokens] = 120_000  # tokens of a whole prompt that is cut by `compat`
