"""Files that are text: plain, Markdown, tables, web pages, JSON. What cannot be read says why."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.documents.found import BLANK, Found, UnusableError, one, usable
from needlework.haystack_fixtures.documents.html_text import html_text

NOT_READ = "is not a kind that is read"
_FIELDS = ("text", "input", "content", "document")  # of a row, the first that is a text
_NAMES = ("id", "title")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_HEAD = 2048  # bytes of a page that may name its encoding
# Of files that are not read, as what they can be stored.
_OLD = {
    ".doc": ".docx", ".odt": ".docx", ".pages": ".docx", ".ppt": ".pptx", ".odp": ".pptx", ".key": ".pptx",
    ".xls": ".xlsx", ".ods": ".xlsx", ".numbers": ".xlsx", ".mobi": ".epub", ".azw3": ".epub", ".msg": ".eml",
}  # fmt: skip


def text_file(path: Path, name: str) -> Found:
    """The text as it is; where it is one JSON string, the text of that."""
    return one(name, _unwrapped(_decoded(path.read_bytes())))


def page(path: Path, name: str) -> Found:
    """The text that people see of a web page."""
    data = path.read_bytes()
    declared = _CHARSET.search(data[:_HEAD])
    encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
    if encoding.startswith("utf-16"):  # what says so in single bytes is not: browsers take it for UTF-8
        encoding = "utf-8"
    return one(name, html_text(_decoded(data, encoding)))


def json_file(path: Path, name: str) -> Found:
    """The text of a file that is one JSON string."""
    text = _decoded(path.read_bytes())
    if not text.strip():
        raise UnusableError(BLANK)
    unwrapped = _json_string(text)
    if unwrapped is None:
        raise UnusableError("JSON, but not one string: write one document a row as .jsonl")
    return one(name, unwrapped)


def other(path: Path, name: str) -> Found:
    """A file of an unknown kind is a document only where it is one JSON string."""
    kind = f"{path.suffix or 'a name without an ending'} {NOT_READ}"
    if (better := _OLD.get(path.suffix.lower())) is not None:
        kind += f": save it as {better}"
    with path.open("rb") as file:
        if not file.read(64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b'"'):
            raise UnusableError(kind)
    unwrapped = _json_string(_decoded(path.read_bytes()))
    if unwrapped is None:
        raise UnusableError(kind)
    return one(name, unwrapped)


def rows(path: Path, name: str) -> Found:
    """One document a row, named by the rows' `id` or `title` where that tells them apart, else by the line from 1."""
    lines = _decoded(path.read_bytes()).split("\n")  # nothing else ends a line of jsonl
    rows = [(number, *_row(line)) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise UnusableError(BLANK)
    names = next((told for field in _NAMES if (told := _told_apart([row for _, row, _ in rows], field))), None)
    documents, left_out = [], []
    for at, (number, row, problem) in enumerate(rows):
        row_name = f"{name}#{names[at] if names else number}"
        try:
            if problem:
                raise UnusableError(problem)
            documents.append((row_name, usable(_row_text(row))))
        except UnusableError as error:
            left_out.append((row_name, str(error)))
    return Found(tuple(documents), tuple(left_out))


def _row(line: str) -> tuple[Any, str]:
    try:
        return json.loads(line), ""
    except (ValueError, RecursionError) as error:
        return None, f"is not JSON ({error})"


def _told_apart(rows: Sequence[Any], field: str) -> list[str] | None:
    """The rows' values of a field, where all have one of their own."""
    values = [row.get(field) if isinstance(row, dict) else None for row in rows]
    if not all(isinstance(value, str | int) and str(value).strip() for value in values):
        return None
    names = [str(value) for value in values]
    whole = all(name == name.encode("utf-8", "replace").decode() for name in names)  # no half of a surrogate pair
    return names if whole and len(set(names)) == len(names) else None


def _row_text(row: Any) -> str:
    if isinstance(row, str):
        return row
    fields = row if isinstance(row, dict) else {}
    text = next((fields[field] for field in _FIELDS if isinstance(fields.get(field), str)), None)
    if text is None:
        raise UnusableError(f"no text in a field {', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}")
    return str(text)


def _decoded(data: bytes, encoding: str = "utf-8") -> str:
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), encoding)
    if b"\0" in data and encoding != "utf-16":
        raise UnusableError("it is binary, not text")
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        raise UnusableError(f"it is not {encoding.upper().removesuffix('-SIG')} text: save it as UTF-8") from None


def _unwrapped(text: str) -> str:
    unwrapped = _json_string(text)
    return text if unwrapped is None else unwrapped


def _json_string(text: str) -> str | None:
    bare = text.strip()
    if len(bare) < 2 or not (bare.startswith('"') and bare.endswith('"')):
        return None
    try:
        value = json.loads(bare)
    except ValueError:
        return None
    return value if isinstance(value, str) else None
