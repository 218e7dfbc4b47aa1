"""Rows of parquet files: short columns at once, the long text by row group, of which two stay in memory."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.documents.data_sets.layout import OPTION, Layout, Row
from needlework.haystack_fixtures.errors import InputError

_BATCH = 8  # rows of long texts whose characters are counted at once


def short_rows(path: Path, layout: Layout) -> list[tuple[Row, int]]:
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
