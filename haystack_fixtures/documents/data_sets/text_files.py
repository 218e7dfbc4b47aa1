"""Rows of text files (JSON lines, a JSON list, CSV) by their place in the file: one row is in memory at a time."""

from __future__ import annotations

import csv
import json
import mmap
import re
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

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
